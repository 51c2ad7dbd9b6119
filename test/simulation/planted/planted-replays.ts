import type { PlantedFault } from './planted.ts';

/** Faults of dead deliveries, of their replay by an operator, and of the texts of deliveries. */
export const PLANTED_REPLAYS: readonly PlantedFault[] = [
  {
    name: 'a delivery is dead one attempt too early',
    area: 'replays',
    store: 'memory',
    file: 'src/notifications/delivery-dispatcher.ts',
    find: 'if (attempts >= maxAttempts)',
    replace: 'if (attempts >= maxAttempts - 1)',
  },
  {
    name: 'a dead delivery is attempted again without a replay',
    area: 'replays',
    store: 'memory',
    file: 'adapters/memory/deliveries.ts',
    find: "{ due: outcome.at, error } : { state: 'dead', error }",
    replace: '{ due: outcome.at, error } : { due: 0, error }',
  },
  {
    name: 'a replayed delivery keeps its attempts',
    area: 'replays',
    store: 'memory',
    file: 'adapters/memory/deliveries.ts',
    find: "{ state: 'pending', attempts: 0, due: now, error: null }",
    replace: "{ state: 'pending', due: now, error: null }",
  },
  {
    name: 'a replay delivers notifications that were withdrawn',
    area: 'replays',
    store: 'memory',
    file: 'adapters/memory/deliveries.ts',
    find: '      if (context.isVisible(row.notification)) {',
    replace: '      if (row.notification) {',
  },
  {
    name: 'an attempt that was not made counts',
    area: 'replays',
    store: 'memory',
    file: 'adapters/memory/deliveries.ts',
    find: 'attempts: row.attempts - 1',
    replace: 'attempts: row.attempts',
  },
  {
    name: 'a notification that is shown again keeps its first text',
    area: 'replays',
    store: 'memory',
    file: 'adapters/memory/account-store.ts',
    find: '...existing, id, at, body, visible: true }',
    replace: 'id, at, body, ...existing, visible: true }',
  },
];
