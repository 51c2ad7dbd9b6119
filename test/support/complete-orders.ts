import type { NewOrder } from 'intentbook';
import { renderBody } from '../../src/records/order-json.ts';
import { order } from '../conformance/orders.ts';

/** Returns an order like `order`, with the complete body of a submitted order, so that it can be read and rendered. */
export function completeOrder(n: number, changes: Partial<NewOrder> = {}): NewOrder {
  const row = order(n, changes);
  const body = renderBody({
    uid: row.uid,
    owner: row.owner,
    data: {
      sellToken: row.sellToken,
      buyToken: row.buyToken,
      receiver: null,
      sellAmount: BigInt(n + 1),
      buyAmount: 1n,
      validTo: row.validTo,
      appData: row.appData,
      feeAmount: 0n,
      kind: 'sell',
      partiallyFillable: false,
      sellTokenBalance: 'erc20',
      buyTokenBalance: 'erc20',
    },
    signingScheme: row.signingScheme,
    signature: row.signingScheme === 'presign' ? '0x' : `0x${'5a'.repeat(65)}`,
    creationDate: row.creationDate,
    settlementContract: '0x9008d19f58aabd9ed0d60971565aa8510560ab41',
    interactions: { pre: [], post: [] },
    validFrom: undefined,
  });
  return { ...row, body };
}
