import type { PlantedFault } from './planted.ts';

/** Faults that let a client with many connections use more than its share. */
export const PLANTED_FAIRNESS: readonly PlantedFault[] = [
  {
    name: 'the bytes of a body cost nothing',
    area: 'fairness',
    store: 'fairness',
    file: 'src/http/cost.ts',
    find: 'export const BYTES_PER_TOKEN = 16 * 1024;',
    replace: 'export const BYTES_PER_TOKEN = 16 * 1024 * 1024;',
  },
  {
    name: 'a long read costs one token before its work',
    area: 'fairness',
    store: 'fairness',
    file: 'src/http/cost.ts',
    find: 'return Math.min(MAX_BEFORE, Math.max(1, Math.ceil(rows / rowsPerToken)));',
    replace: 'return 1 + 0 * rows * rowsPerToken;',
  },
  {
    name: 'an unsigned order displaces none of another client',
    area: 'fairness',
    store: 'fairness',
    file: 'src/orders/group-commit.ts',
    find: 'return Math.max(0, ...counts.values()) > (counts.get(client) ?? 0);',
    replace: 'return counts.get(client) === -1;',
  },
  {
    name: 'a resumed stream is not charged by its entries',
    area: 'fairness',
    store: 'fairness',
    file: 'src/http/routes/orders.ts',
    find: 'countRows(work, stream.backlog);',
    replace: '',
  },
];
