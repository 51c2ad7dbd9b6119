import type { PlantedFault } from './planted.ts';

/** Faults of orders that are placed on chain. */
export const PLANTED_PLACEMENTS: readonly PlantedFault[] = [
  {
    name: 'an order stays although its placement is rolled back',
    area: 'placements',
    store: 'memory',
    file: 'src/records/project-order.ts',
    find: 'const isRemoved = placedOnChain && source === undefined;',
    replace: "const isRemoved = placedOnChain && uid === '0x';",
  },
  {
    name: 'a rolled back placement leaves its expiry in the log',
    area: 'placements',
    store: 'memory',
    file: 'src/records/project-order.ts',
    find: 'emitsExpiry(now, after) && !isRemoved;',
    replace: 'emitsExpiry(now, after);',
  },
  {
    name: 'the validity that the user chose is ignored',
    area: 'placements',
    store: 'memory',
    file: 'src/records/project-order.ts',
    find: 'const validTo = placement?.userValidTo ?? (isWaiting',
    replace: 'const validTo = (isWaiting',
  },
  {
    name: 'a placement with an error is in the auction',
    area: 'placements',
    store: 'memory',
    file: 'src/auctions/auction-order.ts',
    find: 'placement.onchainOrderData?.placementError !== undefined || ',
    replace: '',
  },
  {
    name: 'a placement that leaves too little time has no error',
    area: 'placements',
    store: 'shared',
    file: 'src/chain/placement.ts',
    find: "return broken ? 'PreValidationError' : undefined;",
    replace: 'return broken ? undefined : undefined;',
  },
  {
    name: 'the contract is notified in place of the user',
    area: 'placements',
    store: 'memory',
    file: 'src/notifications/notification-rules.ts',
    find: 'const account = order.onchainUser ?? order.owner;',
    replace: 'const account = order.owner;',
  },
  {
    name: 'a cancellation by the placing contract is ignored',
    area: 'placements',
    store: 'shared',
    file: 'src/protocol/event-decoder.ts',
    find: "return orderUid && { event: 'OrderInvalidation', address, orderUid };",
    replace: 'return orderUid && undefined;',
  },
  {
    name: 'a stream of a user lacks the orders that are placed on chain',
    area: 'placements',
    store: 'memory',
    file: 'src/streams/order-log.ts',
    find: 'if (user !== undefined && user !== owner) keys.push(toOwnerKey(user));',
    replace: '',
  },
];
