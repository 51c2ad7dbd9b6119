import type { Domain, Hex } from 'intentbook';
import type { LocalAccount } from 'viem';
import { keccak256, toHex } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';

/** WETH and COW on Sepolia, in checksum notation. */
export const WETH = '0xfFf9976782d46CC05630D1f6eBAb18b2324d6B14';
export const COW = '0x0625aFB445C3B6B7B929342a04A22599fd5dBB59';

export const SEPOLIA = 11155111;
export const SEPOLIA_DOMAIN: Domain = {
  chainId: SEPOLIA,
  settlementContract: '0x9008d19f58aabd9ed0d60971565aa8510560ab41',
};

export const ORDER_TYPES = {
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

/** Returns an account whose key is derived from a small number, so that failing tests are repeatable. */
export function account(seed: number): LocalAccount {
  return privateKeyToAccount(keccak256(toHex(`intentbook test account ${seed}`)));
}

/** Fields that a test can choose; the others have values that every book accepts. */
export interface OrderChoice {
  sellToken?: string;
  buyToken?: string;
  receiver?: string | null;
  sellAmount?: string;
  buyAmount?: string;
  validTo?: number;
  /** A document, or a hash with `appDataIsHash`. */
  appData?: string;
  appDataIsHash?: boolean;
  feeAmount?: string;
  kind?: 'buy' | 'sell';
  partiallyFillable?: boolean;
  sellTokenBalance?: 'erc20' | 'internal' | 'external';
  buyTokenBalance?: 'erc20' | 'internal';
}

export interface WireOrder extends Required<Omit<OrderChoice, 'appDataIsHash'>> {
  signingScheme: 'eip712' | 'ethsign' | 'presign' | 'eip1271';
  signature: Hex;
  from?: string;
}

function typedData(domain: Domain) {
  return {
    name: 'Gnosis Protocol',
    version: 'v2',
    chainId: domain.chainId,
    verifyingContract: domain.settlementContract,
  };
}

/** Signs an order like a wallet, with viem, which is independent of this package. */
export async function signOrder(
  signer: LocalAccount,
  choice: OrderChoice & { validTo: number },
  { domain = SEPOLIA_DOMAIN, scheme = 'eip712' as 'eip712' | 'ethsign' } = {},
): Promise<WireOrder> {
  const { appDataIsHash = false, ...chosen } = choice;
  const order = {
    sellToken: WETH,
    buyToken: COW,
    receiver: signer.address as string | null,
    sellAmount: '1000000000000000000',
    buyAmount: '5000000000000000000000',
    appData: '{}',
    feeAmount: '0',
    kind: 'sell' as const,
    partiallyFillable: false,
    sellTokenBalance: 'erc20' as const,
    buyTokenBalance: 'erc20' as const,
    ...chosen,
  };
  const message = {
    ...order,
    receiver: (order.receiver ?? '0x0000000000000000000000000000000000000000') as Hex,
    appData: (appDataIsHash ? order.appData : keccak256(toHex(order.appData))) as Hex,
    sellToken: order.sellToken as Hex,
    buyToken: order.buyToken as Hex,
    sellAmount: BigInt(order.sellAmount),
    buyAmount: BigInt(order.buyAmount),
    feeAmount: BigInt(order.feeAmount),
  };
  const typed = { domain: typedData(domain), types: ORDER_TYPES, primaryType: 'Order', message } as const;
  const signature = await sign(signer, typed, scheme);
  return { ...order, signingScheme: scheme, signature, from: signer.address };
}

/** Signs the cancellation of a list of orders, or of one order by the single type. */
export async function signCancellation(
  signer: LocalAccount,
  what: { orderUids: readonly string[] } | { orderUid: string },
  { domain = SEPOLIA_DOMAIN, scheme = 'eip712' as 'eip712' | 'ethsign' } = {},
): Promise<{ signature: Hex; signingScheme: 'eip712' | 'ethsign' }> {
  const typed =
    'orderUid' in what
      ? {
          types: { OrderCancellation: [{ name: 'orderUid', type: 'bytes' }] },
          primaryType: 'OrderCancellation',
          message: { orderUid: what.orderUid },
        }
      : {
          types: { OrderCancellations: [{ name: 'orderUids', type: 'bytes[]' }] },
          primaryType: 'OrderCancellations',
          message: { orderUids: what.orderUids },
        };
  const signature = await sign(signer, { domain: typedData(domain), ...typed } as TypedData, scheme);
  return { signature, signingScheme: scheme };
}

type TypedData = Parameters<NonNullable<LocalAccount['signTypedData']>>[0];

async function sign(signer: LocalAccount, typed: unknown, scheme: 'eip712' | 'ethsign'): Promise<Hex> {
  if (scheme === 'eip712') return signer.signTypedData(typed as TypedData);
  const { hashTypedData } = await import('viem');
  return signer.signMessage({ message: { raw: hashTypedData(typed as TypedData) } });
}
