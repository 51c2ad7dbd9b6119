import type { Address, Hex, OrderCreation } from 'intentbook';
import type { LocalAccount } from 'viem';
import { concatHex, hashTypedData, keccak256, numberToHex, toHex } from 'viem';
import type { OrderChoice, WireOrder } from '../support/orders.ts';
import { account, ORDER_TYPES, SEPOLIA_DOMAIN, signOrder } from '../support/orders.ts';

// The sample orders of random sequences: signed once, and few, so that operations collide.

/** Start time of every sequence, in seconds since 1970. */
export const START = 1_700_000_000;

/** An order with the data of the model. */
export interface Sample {
  readonly uid: Hex;
  readonly owner: Address;
  /** Index of the owner in `SIGNERS`. */
  readonly signer: number;
  readonly creation: OrderCreation;
  readonly kind: 'sell' | 'buy';
  readonly sellAmount: bigint;
  readonly buyAmount: bigint;
  readonly validTo: number;
  readonly scheme: WireOrder['signingScheme'];
  /** Index in `SAMPLES` of the order that it replaces. */
  readonly replaces: number | undefined;
}

export const SIGNERS: readonly LocalAccount[] = [account(1), account(2)];

interface Plan extends OrderChoice {
  readonly signer?: number;
  readonly sequence: number;
  readonly scheme?: WireOrder['signingScheme'];
  readonly replaces?: number;
}

const PLANS: readonly Plan[] = [
  { sequence: 3600, sellAmount: '10', buyAmount: '7' },
  { sequence: 3600, sellAmount: '9', buyAmount: '12', kind: 'buy', scheme: 'ethsign' },
  { sequence: 200, sellAmount: '5' },
  { sequence: 400, sellAmount: '4', signer: 1 },
  { sequence: 3600, sellAmount: '5', scheme: 'presign' },
  { sequence: 300, sellAmount: '6', scheme: 'presign', signer: 1 },
  { sequence: 3600, sellAmount: '11', replaces: 0 },
  { sequence: 900, sellAmount: '12', replaces: 2 },
  { sequence: 4000, sellAmount: '13', replaces: 6 },
  { sequence: 4000, sellAmount: '14', replaces: 0, signer: 1 },
  { sequence: 2000, sellAmount: '15' },
  { sequence: 1000, sellAmount: '16', buyAmount: '3', kind: 'buy', signer: 1 },
  { sequence: 70, sellAmount: '17' },
  { sequence: 2000, sellAmount: '18', scheme: 'eip1271' },
  { sequence: 5000, sellAmount: '19', replaces: 4 },
  { sequence: 5000, sellAmount: '20', scheme: 'presign' },
];

/** @returns the orders of the plans in order; a replacement follows the replaced order. */
async function makeSamples(): Promise<readonly Sample[]> {
  const samples: Sample[] = [];
  for (const { signer: number = 0, sequence, scheme = 'eip712', replaces, ...choice } of PLANS) {
    const signer = SIGNERS[number] as LocalAccount; // both exist
    const replaced = replaces === undefined ? undefined : samples[replaces]?.uid;
    const appData = replaced === undefined ? '{}' : JSON.stringify({ metadata: { replacedOrder: { uid: replaced } } });
    const validTo = START + sequence;
    const terms = { buyAmount: '7', partiallyFillable: true, ...choice, appData, validTo };
    const signed = await signOrder(signer, terms, { scheme: scheme === 'ethsign' ? 'ethsign' : 'eip712' });
    const owner = signer.address.toLowerCase() as Address; // an address
    const unsigned = { presign: { signature: '0x' }, eip1271: { signature: '0x1234' } } as const;
    const creation = {
      ...signed,
      ...(scheme === 'presign' || scheme === 'eip1271' ? { signingScheme: scheme, ...unsigned[scheme] } : {}),
    };
    samples.push({
      uid: uidOf(signed, owner),
      owner,
      signer: number,
      validTo,
      scheme,
      replaces,
      creation: creation as OrderCreation, // the type of a wallet
      kind: signed.kind,
      sellAmount: BigInt(signed.sellAmount),
      buyAmount: BigInt(signed.buyAmount),
    });
  }
  return samples;
}

/** Digest, owner and validity, computed without this package. */
function uidOf(order: WireOrder, owner: Hex): Hex {
  const digest = hashTypedData({
    domain: {
      name: 'Gnosis Protocol',
      version: 'v2',
      chainId: SEPOLIA_DOMAIN.chainId,
      verifyingContract: SEPOLIA_DOMAIN.settlementContract,
    },
    types: ORDER_TYPES,
    primaryType: 'Order',
    message: {
      ...order,
      receiver: order.receiver as Hex, // the owner
      sellToken: order.sellToken as Hex,
      buyToken: order.buyToken as Hex, // addresses
      sellAmount: BigInt(order.sellAmount),
      buyAmount: BigInt(order.buyAmount),
      feeAmount: 0n,
      appData: keccak256(toHex(order.appData)),
    },
  });
  return concatHex([digest, owner, numberToHex(order.validTo, { size: 4 })]);
}

export const SAMPLES: readonly Sample[] = await makeSamples();
