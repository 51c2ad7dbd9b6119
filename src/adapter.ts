// What those who write a store need besides the port: the rules that every store judges alike, and their encodings.

export { accelerateKeccak } from './crypto/keccak.ts';
export { recoverPacked } from './crypto/packed.ts';
export { chooseRecovery } from './crypto/recovery.ts';
export { CORS_HEADERS, PREFLIGHT_HEADERS } from './http/cors.ts';
export { json, refusal } from './http/response.ts';
export { leasesInMemory } from './leases.ts';
export type { StoreLifetime } from './lifetime.ts';
export { storeLifetime } from './lifetime.ts';
export { isIpRange } from './limits/ip-address.ts';
export { refuseUnknownOptions, unknownName } from './options.ts';
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
export { readResponseText } from './response-text.ts';
export { blockHashes, hasMoved, ordersTouched } from './settlement/fact-batch.ts';
export { firstTradeBlocks } from './settlement/first-trades.ts';
export type { AffectedOrder, FactJudgement, KnownOrder, OrderProgress, RowChange } from './settlement/judge.ts';
export {
  expiryOf,
  inChainOrder,
  isOrderFact,
  judgeFacts,
  progressOf,
  tellsExpiry,
  versionWhenPlaced,
} from './settlement/judge.ts';
export { VERSION } from './version.ts';
