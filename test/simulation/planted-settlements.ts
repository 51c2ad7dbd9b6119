import type { PlantedFault } from './planted.ts';

/** Faults of the orders that settlements add. */
export const PLANTED_SETTLEMENTS: readonly PlantedFault[] = [
  {
    name: 'a settlement without an order of the book adds its orders',
    area: 'settlements',
    store: 'memory',
    file: 'src/chain/just-in-time.ts',
    find: "  if (context.justInTimeOrders === 'all' || trades.some(({ orderUid }) => known.has(orderUid))) return true;\n",
    replace: '  if (trades.length > 0) return true;\n',
  },
  {
    name: 'a settlement adds the order of its first trade for all trades',
    area: 'settlements',
    store: 'memory',
    file: 'src/chain/just-in-time.ts',
    find: 'readOrder(settlement.input, i, trade, context)',
    replace: 'readOrder(settlement.input, 0, trade, context)',
  },
  {
    name: 'the order of a settlement is not compared with the traded UID',
    area: 'settlements',
    store: 'memory',
    file: 'src/chain/just-in-time.ts',
    find: 'settled === undefined || bytesToHex(hasher.digest(settled.data)) !== digest',
    replace: 'settled === undefined',
  },
  {
    name: 'a trade is logged before the order that a later settlement adds',
    area: 'settlements',
    store: 'shared',
    file: 'src/chain/project-order.ts',
    find: '  return created === undefined ? events : [created, ...events.filter((event) => event !== created)];\n',
    replace: '  return events;\n',
  },
  {
    name: 'the creation of an order is reverted before its trades',
    area: 'settlements',
    store: 'memory',
    file: 'src/chain/project-order.ts',
    find: '    reverted.push(removedEvents);\n',
    replace: '    reverted.push([...removedEvents].reverse());\n',
  },
  {
    name: 'a cancelled order can be submitted again after its settlement was rolled back',
    area: 'settlements',
    store: 'memory',
    file: 'adapters/memory/orders.ts',
    find: "    if (change.type === 'delete') {\n      leaveTombstone(row);\n",
    replace: "    if (change.type === 'delete') {\n",
  },
  {
    name: 'an auction has an order that a settlement has added',
    area: 'settlements',
    store: 'memory',
    file: 'src/auctions/auction-order.ts',
    find: '  if (body.isLiquidityOrder) return undefined;\n',
    replace: '',
  },
];
