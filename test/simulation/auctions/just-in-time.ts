import type { Address, AuctionOrder, Hex } from 'intentbook';
import { orderTypedData, orderUid, signingDomain } from 'intentbook/sign';
import { CHAIN_ID } from '../orders/pool-order.ts';
import type { ExecutedFill } from './contract.ts';

/**
 * Creates orders of solvers, which exchange the amounts of a fill.
 *
 * @param firstValidTo - Validity of the first one. Each has another one, and so another UID.
 */
export function createJustInTimeOrders(settlementContract: Address, firstValidTo: number) {
  const domain = signingDomain({ chainId: CHAIN_ID, settlementContract });
  const uids = new Set<Hex>();

  return {
    uids: uids as ReadonlySet<Hex>,
    create({ order, sold, bought }: ExecutedFill, owner: Address): AuctionOrder {
      const { buyToken: sellToken, sellToken: buyToken } = order;
      const terms = { sellToken, buyToken, sellAmount: String(bought), buyAmount: String(sold), receiver: owner };
      const rest = { validTo: firstValidTo + uids.size, partiallyFillable: false, kind: 'sell' as const };
      const changed = { ...order, ...terms, ...rest, owner };
      const uid = orderUid(orderTypedData(domain, { ...changed, feeAmount: '0' }), owner);
      uids.add(uid);
      return { ...changed, uid, signingScheme: 'eip1271', signature: '0x1234', executed: '0', protocolFees: [] };
    },
  };
}
