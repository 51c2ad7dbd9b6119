import type { EvmClient } from '../../support/evm.ts';
import { SETTLEMENT, send } from '../../support/evm.ts';
import type { Fill } from '../../support/settlement.ts';
import { settleData } from '../../support/settlement.ts';

/** Settles orders with the token balance of the settlement contract. */
export async function settle(
  client: EvmClient,
  fills: readonly Fill[],
  prices: Readonly<Record<string, bigint>>,
  auctionId?: number,
) {
  return send(client, { to: SETTLEMENT, data: settleData(fills, prices, auctionId) });
}
