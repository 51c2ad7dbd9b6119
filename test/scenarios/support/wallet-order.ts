import type { Hex, LocalAccount } from 'viem';
import type { OrderChoice, WireOrder } from '../../support/orders.ts';
import { signOrder } from '../../support/orders.ts';

/** Signs an order of a contract wallet by the key of its owner (EIP-1271). */
export async function walletOrder(owner: LocalAccount, wallet: Hex, choice: OrderChoice): Promise<WireOrder> {
  const validTo = Math.floor(Date.now() / 1000) + 3600;
  const signed = await signOrder(owner, { validTo, receiver: wallet, ...choice });
  return { ...signed, from: wallet, signingScheme: 'eip1271' };
}
