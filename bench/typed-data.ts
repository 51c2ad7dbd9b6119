import type { Hex } from 'viem';
import { DOMAIN, type Signed } from './orders.ts';

/** An order as viem takes it, in viem's own types: so that no time goes to converting it. */
export function typedData({ hashed }: Signed) {
  return {
    domain: {
      name: 'Gnosis Protocol',
      version: 'v2',
      chainId: DOMAIN.chainId,
      verifyingContract: DOMAIN.settlementContract,
    },
    types: TYPES,
    primaryType: 'Order',
    message: {
      ...hashed,
      ...{ sellToken: hashed.sellToken as Hex, buyToken: hashed.buyToken as Hex, appData: hashed.appData as Hex }, // signed
      receiver: '0x0000000000000000000000000000000000000000',
      sellAmount: BigInt(hashed.sellAmount),
      buyAmount: BigInt(hashed.buyAmount),
      feeAmount: BigInt(hashed.feeAmount),
      sellTokenBalance: 'erc20',
      buyTokenBalance: 'erc20',
    },
  } as const;
}

const TYPES = {
  Order: [
    { name: 'sellToken', type: 'address' },
    { name: 'buyToken', type: 'address' },
    { name: 'receiver', type: 'address' },
    { name: 'sellAmount', type: 'uint256' },
    { name: 'buyAmount', type: 'uint256' },
    { name: 'validTo', type: 'uint32' },
    { name: 'appData', type: 'bytes32' },
    { name: 'feeAmount', type: 'uint256' },
    { name: 'kind', type: 'string' },
    { name: 'partiallyFillable', type: 'bool' },
    { name: 'sellTokenBalance', type: 'string' },
    { name: 'buyTokenBalance', type: 'string' },
  ],
} as const;
