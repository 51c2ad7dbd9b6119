import type { PlantedFault } from './planted.ts';

/** Faults of the checks of whether open orders are funded. */
export const PLANTED_SHORTFALLS: readonly PlantedFault[] = [
  {
    name: 'an order is reported as unfunded after one check',
    area: 'shortfalls',
    store: 'memory',
    file: 'src/notifications/funding-check.ts',
    find: 'unfunded.filter(({ order }) => suspects.has(order.uid))',
    replace: 'unfunded',
  },
  {
    name: 'the mark of an order stays when it is funded again',
    area: 'shortfalls',
    store: 'memory',
    file: 'src/notifications/funding-check.ts',
    find: '      ...funded.map(({ order }) => ({ key: order.uid, value: null })),\n',
    replace: '',
  },
  {
    name: 'a shortfall is reported again after a restart',
    area: 'shortfalls',
    store: 'memory',
    file: 'src/notifications/funding-check.ts',
    find: 'new Set((await notifications.marks(feed, uids)).map(({ key }) => key))',
    replace: 'new Set(marked)',
  },
  {
    name: 'a shortfall is reported at each check',
    area: 'shortfalls',
    store: 'shared',
    file: 'src/notifications/funding-check.ts',
    find: '      ...open.map(({ order }) => ({ key: order.uid, value: String(at) })),\n',
    replace: '',
  },
  {
    name: 'an order that a settlement has added is reported as unfunded',
    area: 'shortfalls',
    store: 'memory',
    file: 'src/notifications/funding-check.ts',
    find: '!order.isLiquidityOrder && ',
    replace: '',
  },
  {
    name: 'an order is reported as unfunded before its validFrom',
    area: 'shortfalls',
    store: 'memory',
    file: 'src/notifications/funding-check.ts',
    find: 'isOffered && (order.validFrom ?? 0) <= now',
    replace: 'isOffered',
  },
];
