import { toCsvLine } from '../../account-tools/csv-line.ts';
import type { OrderTrade } from '../../records/results.ts';
import type { Order } from '../../records/wire-order.ts';
import type { AccountOrder, AccountTrade } from './history-api.ts';

/** Members of an order that are columns, after `chainId` and `env`. Amounts are atoms. */
const ORDER_COLUMNS = [
  'uid',
  'creationDate',
  'status',
  'kind',
  'class',
  'owner',
  'onchainUser',
  'receiver',
  'sellToken',
  'buyToken',
  'sellAmount',
  'buyAmount',
  'feeAmount',
  'executedSellAmount',
  'executedSellAmountBeforeFees',
  'executedBuyAmount',
  'executedFee',
  'executedFeeToken',
  'validTo',
  'partiallyFillable',
  'signingScheme',
  'appData',
] as const satisfies readonly (keyof Order)[];

/** Members of a trade that are columns, after `chainId`, `env` and `timestamp`. Amounts are atoms. */
const TRADE_COLUMNS = [
  'blockNumber',
  'logIndex',
  'txHash',
  'orderUid',
  'owner',
  'sellToken',
  'buyToken',
  'sellAmount',
  'sellAmountBeforeFees',
  'buyAmount',
] as const satisfies readonly (keyof OrderTrade)[];

/** Format of a file of orders. */
export const ORDER_CSV = {
  header: /* @__PURE__ */ toCsvLine(['chainId', 'env', ...ORDER_COLUMNS]),
  toLine: ({ chainId, env, order }: AccountOrder): string =>
    toCsvLine([chainId, env, ...ORDER_COLUMNS.map((name) => order[name])]),
};

/** Format of a file of trades. */
export const TRADE_CSV = {
  header: /* @__PURE__ */ toCsvLine(['chainId', 'env', 'timestamp', ...TRADE_COLUMNS]),
  toLine: ({ chainId, env, timestamp, trade }: AccountTrade): string =>
    toCsvLine([chainId, env, timestamp, ...TRADE_COLUMNS.map((name) => trade[name])]),
};
