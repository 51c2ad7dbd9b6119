// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the texts are source code
import type { PlantedFault } from './planted.ts';

/** Faults of a book in front of another one. */
export const PLANTED_UPSTREAM: readonly PlantedFault[] = [
  {
    name: 'an order without an answer is forgotten',
    isQuick: true,
    area: 'upstream',
    store: 'upstream',
    file: 'src/upstream/relay.ts',
    find: "await tasks.write([put('relay', task.insert.order.uid, clock.now() + READS[0], { ...task, state: 'unknown' })]);",
    replace: "await tasks.write([drop('relay', { key: task.insert.order.uid })]);",
  },
  {
    name: 'a cancellation at the other book is not taken',
    isQuick: true,
    area: 'upstream',
    store: 'upstream',
    file: 'src/records/reconcile.ts',
    find: "if (found.status === 'cancelled' && (local",
    replace: 'if (found.status === undefined && (local',
  },
  {
    name: 'a pre-signature at the other book is not taken',
    area: 'upstream',
    store: 'upstream',
    file: 'src/records/reconcile.ts',
    find: "if (isAdopted) events.push({ type: 'presignature'",
    replace: "if (isAdopted && local.validTo === 0) events.push({ type: 'presignature'",
  },
  {
    name: 'an order that was sent is taken back',
    area: 'upstream',
    store: 'upstream',
    file: 'src/upstream/cancellations.ts',
    find: "(state === 'queued' && mayArrive !== true) || withdrawn === true;",
    replace: 'state !== undefined || withdrawn === true;',
  },
  {
    name: 'a date of the other book without a zone is an hour early',
    isQuick: true,
    area: 'upstream',
    store: 'upstream',
    file: 'src/validation/date.ts',
    find: '`${text}Z`',
    replace: '`${text}+01:00`',
  },
];
