import type { StoredOrder } from '../../../src/ports/store.ts';

/** The columns of a new row that do not depend on its order. */
export const NEW_ROW: Omit<StoredOrder, 'uid' | 'body' | 'creationDate' | 'validTo'> = {
  version: 1,
  state: 'open',
  invalidated: false,
  executedSellAmount: '0',
  executedBuyAmount: '0',
  executedFeeAmount: '0',
  executedFee: '0',
  executedFeeToken: null,
  fullAppData: null,
  quote: null,
  placement: null,
};
