import type { Hex } from 'viem';
import { ORDER_TYPES } from '../test/support/orders.ts';
import { DOMAIN, type Signed } from './orders.ts';

/** Converts an order to viem's typed data in advance, so that the conversion is not measured. */
export function toTypedData({ hashed }: Signed) {
  return {
    domain: {
      name: 'Gnosis Protocol',
      version: 'v2',
      chainId: DOMAIN.chainId,
      verifyingContract: DOMAIN.settlementContract,
    },
    types: ORDER_TYPES,
    primaryType: 'Order',
    message: {
      ...hashed,
      sellToken: hashed.sellToken as Hex,
      buyToken: hashed.buyToken as Hex,
      appData: hashed.appData as Hex, // signed
      receiver: '0x0000000000000000000000000000000000000000',
      sellAmount: BigInt(hashed.sellAmount),
      buyAmount: BigInt(hashed.buyAmount),
      feeAmount: BigInt(hashed.feeAmount),
      sellTokenBalance: 'erc20',
      buyTokenBalance: 'erc20',
    },
  } as const;
}
