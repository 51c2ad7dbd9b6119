/**
 * The tools of store authors, exported as `intentbook/store-kit`: the rules that every store must apply in the same
 * way.
 *
 * @module
 */

export { assertSameDomain, getLogEpochStart, LOG_EPOCHS } from '../ports/store.ts';
export { appDataHash } from '../protocol/app-data.ts';
export { bytesToHex, hexToBytes, parseHex, unpackUid } from '../protocol/hex.ts';
export type { KnownEvents, NewEvents } from '../records/chain-batch.ts';
export {
  blockHashes,
  compareLogPositions,
  findAdoptable,
  findNewEvents,
  firstTradeBlocks,
  getAffectedUids,
  getConfirmedRange,
  isBatchStale,
  isCursorStale,
  isOrderChainEvent,
  toConflict,
} from '../records/chain-batch.ts';
export { createExpiryEvent, emitsExpiry, getPlacementVersion } from '../records/expiry-event.ts';
export type { CancellableOrder } from '../records/order-json.ts';
export { checkCancellable, getEndTime, getOrderStatus, isSoundBody } from '../records/order-json.ts';
export type {
  AffectedOrder,
  KnownOrder,
  OrderProgress,
  OrderStateProjection,
  RowChange,
} from '../records/project-order.ts';
export { projectOrderState } from '../records/project-order.ts';
export type { OrderStatus } from '../records/wire-order.ts';
export { ORDER_STATUSES } from '../records/wire-order.ts';
export { assertKnownOptions } from '../validation/options.ts';
export {
  CHAIN_EVENT_TYPES,
  type ChainEventRow,
  type ChainTables,
  createChainOperations,
  formatChainEventDetail,
  readChainEvent,
} from './chain-operations.ts';
export { countOldEntries } from './count-old-entries.ts';
export { createAccountStore, createStore, type StoreDefinition, type StoreOperations } from './create-store.ts';
export { FORGOTTEN, getReferralText, REFERRAL_FEEDS } from './forgotten.ts';
export { createInMemoryLeases } from './in-memory-leases.ts';
export {
  CLAIM_WINDOW,
  DELIVERY_WINDOW,
  type DueDelivery,
  getLaneLimit,
  selectDeliveries,
} from './select-deliveries.ts';
