// What those who write a store need besides the port: the rules that every store judges alike, and their encodings.

export { blockHashes, hasMoved, ordersTouched } from './chain/affected-orders.ts';
export { firstTradeBlocks } from './chain/first-trades.ts';
export type { AffectedOrder, FactJudgement, KnownOrder, OrderProgress, RowChange } from './chain/project-order.ts';
export {
  expiryOf,
  inChainOrder,
  isOrderFact,
  judgeFacts,
  progressOf,
  tellsExpiry,
  versionWhenPlaced,
} from './chain/project-order.ts';
export { accelerateKeccak } from './crypto/keccak.ts';
export { recoverPacked } from './crypto/packed.ts';
export { chooseRecovery } from './crypto/recovery.ts';
export { CORS_HEADERS, PREFLIGHT_HEADERS } from './http/cors.ts';
export { json, refusal } from './http/response.ts';
export { isIpRange } from './limits/ip-address.ts';
export type { Cancellable, OrderStatus } from './orders/status.ts';
export { judgeCancellation, ORDER_STATUSES, orderStatus } from './orders/status.ts';
export { assertSameChain } from './ports/chain-source.ts';
export { assertSameDomain } from './ports/store.ts';
export { appDataHash } from './protocol/app-data.ts';
export type { Chain, Deployment, Environment } from './protocol/chains.ts';
export { CHAINS, chainById, chainBySegment, deployment, ENVIRONMENTS, NATIVE_MARKER } from './protocol/chains.ts';
export type { Decimal } from './protocol/decimal.ts';
export { formatDecimal, parseDecimal } from './protocol/decimal.ts';
export { bytesToHex, hexToBytes, parseHex } from './protocol/hex.ts';
export { SETTLE_SELECTOR } from './protocol/settle-calldata.ts';
export { leasesInMemory } from './store-kit/in-memory-leases.ts';
export type { StoreLifetime } from './store-kit/store-lifecycle.ts';
export { storeLifetime } from './store-kit/store-lifecycle.ts';
export { refuseUnknownOptions, unknownName } from './validation/options.ts';
export { readResponseText } from './validation/response-text.ts';
export { VERSION } from './version.ts';
