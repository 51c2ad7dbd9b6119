import type { Address, Hex, OrderCreation } from 'intentbook';
import type { OrderToSign } from 'intentbook/sign';
import { cancellationTypedData, orderTypedData, orderUid, signingDomain, typedDataDigest } from 'intentbook/sign';
import { affiliateDomainSeparator, bytesToHex, subscriptionDigest } from '#internal';
import { createPlacedOrders } from '../chain/placements.ts';
import { START } from '../machine/process.ts';
import type { Signer } from './keys.ts';
import { loadSigners } from './keys.ts';
import type { PoolOrder, Scheme } from './pool-order.ts';
import { BUY_TOKEN, CHAIN_ID, CODES, SELL_TOKEN } from './pool-order.ts';

/** A signed cancellation. */
export interface PoolCancellation {
  readonly orderUids: readonly Hex[];
  readonly signature: Hex;
  readonly signingScheme: 'eip712';
}

/** What an owner signs to change or list subscriptions. */
export interface SubscriptionTerms {
  readonly channel: string;
  readonly target: string;
  readonly types: readonly string[];
  readonly nonce: string;
  /** Seconds since 1970. */
  readonly deadline: number;
}

/** The orders and owners of all simulations of this process. */
export interface Pool {
  readonly orders: readonly PoolOrder[];
  readonly owners: readonly Address[];
  readonly byUid: ReadonlyMap<string, PoolOrder>;
  /** Signs a cancellation, once for each list of orders. */
  cancel(orders: readonly number[], signer: number): PoolCancellation;
  /** Signs a request on the subscriptions of an owner. */
  subscribe(terms: SubscriptionTerms, owner: number): Hex;
}

interface Plan {
  readonly validity: number;
  /** Seconds from the start until auctions have it. */
  readonly wait?: number;
  readonly kind?: 'buy';
  readonly scheme?: Scheme;
  /** Position within the owner's orders. */
  readonly replaces?: number;
  readonly of?: 'another owner';
  readonly rejection?: string;
}

/** The orders of each owner. */
const PLANS: readonly Plan[] = [
  { validity: 90 },
  { validity: 110, kind: 'buy', scheme: 'ethsign' },
  { validity: 150 },
  { validity: 190, kind: 'buy' },
  { validity: 3600 },
  { validity: 3600, kind: 'buy', scheme: 'ethsign' },
  { validity: 7200 },
  { validity: 100, scheme: 'presign' },
  { validity: 140, scheme: 'presign' },
  { validity: 3600, scheme: 'presign', kind: 'buy' },
  { validity: 2000, scheme: 'eip1271' },
  { validity: 3000, replaces: 4 },
  { validity: 240, replaces: 2, kind: 'buy' },
  { validity: 4000, replaces: 11 },
  { validity: 5000, replaces: 7 },
  { validity: 5000, replaces: 4, of: 'another owner' },
  { validity: 5000, rejection: 'ZeroAmount' },
  { validity: 5000, rejection: 'InvalidSignature' },
  { validity: 3600, wait: 45 },
  { validity: 900, wait: 150, kind: 'buy' },
];

/** The referrer codes of orders, by position. */
const REFERRERS = [CODES.other, CODES.other, CODES.other, CODES.own, CODES.unknown, undefined] as const;

const OWNERS = 3;

let pool: Promise<Pool> | undefined;

/** Loads the pool, once per process: signing takes longer than everything else. */
export function loadPool(): Promise<Pool> {
  pool ??= createPool();
  return pool;
}

async function createPool(): Promise<Pool> {
  const signers = await loadSigners(OWNERS);
  const orders: PoolOrder[] = [];
  for (const [signer, keys] of signers.entries()) {
    for (const [position, plan] of PLANS.entries()) orders.push(createOrder(orders, signer, keys, plan, position));
  }
  orders.push(
    ...createPlacedOrders(
      orders.length,
      signers.map(({ address }) => address),
    ),
  );
  const separator = affiliateDomainSeparator();
  const cancellations = new Map<string, PoolCancellation>();
  return {
    orders,
    owners: signers.map(({ address }) => address),
    byUid: new Map(orders.map((order) => [order.uid, order])),
    subscribe({ nonce, deadline, ...terms }, owner) {
      const { address, sign } = at(signers, owner);
      const numbers = { nonce: BigInt(nonce), deadline: BigInt(deadline) };
      return sign(bytesToHex(subscriptionDigest(separator, { account: address, ...terms, ...numbers })));
    },
    cancel(indexes, signer) {
      const key = `${signer} ${indexes.join()}`;
      const cancellation = cancellations.get(key) ?? signCancellation(indexes.map((i) => at(orders, i).uid));
      cancellations.set(key, cancellation);
      return cancellation;

      function signCancellation(orderUids: readonly Hex[]): PoolCancellation {
        const digest = typedDataDigest(cancellationTypedData(signingDomain({ chainId: CHAIN_ID }), orderUids));
        return { orderUids, signature: at(signers, signer).sign(digest), signingScheme: 'eip712' };
      }
    },
  };
}

function createOrder(
  orders: readonly PoolOrder[],
  signer: number,
  keys: Signer,
  plan: Plan,
  position: number,
): PoolOrder {
  const { validity, kind = 'sell', scheme = 'eip712', rejection } = plan;
  const replaces =
    plan.replaces === undefined
      ? undefined
      : plan.replaces + PLANS.length * (plan.of === undefined ? signer : Math.max(0, signer - 1));
  const replacedUid = replaces === undefined ? undefined : orders[replaces]?.uid;
  const code = position === 0 ? undefined : REFERRERS[position % REFERRERS.length];
  const validFrom = plan.wait === undefined ? undefined : START + plan.wait;
  const metadata = {
    ...(validFrom === undefined ? {} : { validFrom }),
    ...(replacedUid === undefined ? {} : { replacedOrder: { uid: replacedUid } }),
    ...(code === undefined ? {} : { referrer: { code } }),
  };
  const appData = Object.keys(metadata).length === 0 ? '{}' : JSON.stringify({ metadata });
  const [sellAmount, buyAmount] = [BigInt(10 + position), rejection === 'ZeroAmount' ? 0n : BigInt(7 + (position % 5))];
  const order: OrderToSign = {
    sellToken: SELL_TOKEN,
    buyToken: BUY_TOKEN,
    receiver: null,
    sellAmount: sellAmount.toString(),
    buyAmount: buyAmount.toString(),
    validTo: START + validity,
    appData,
    feeAmount: '0',
    kind,
    partiallyFillable: true,
    sellTokenBalance: 'erc20',
    buyTokenBalance: 'erc20',
  };
  const typedData = orderTypedData(signingDomain({ chainId: CHAIN_ID }), order);
  const digest = typedDataDigest(typedData);
  const owner = keys.address;
  const signatures = {
    eip712: () => keys.sign(digest),
    ethsign: () => keys.signMessage(digest),
    presign: () => '0x',
    eip1271: () => '0x1234',
  };
  const from = rejection === 'InvalidSignature' ? `0x${'77'.repeat(20)}` : owner;
  return {
    index: orders.length,
    uid: orderUid(typedData, owner),
    terms: typedData.message,
    owner,
    signer,
    kind,
    sellAmount,
    buyAmount,
    validTo: order.validTo,
    validFrom,
    scheme,
    quotaClass: scheme === 'presign' || scheme === 'eip1271' ? 'pending' : 'open',
    replaces,
    rejection: plan.of !== undefined && signer > 0 ? 'WrongOwner' : rejection,
    code,
    placedBy: undefined,
    creation: { ...order, from, signature: signatures[scheme](), signingScheme: scheme } as OrderCreation, // wire texts
  };
}

function at<T>(list: readonly T[], index: number): T {
  return list[index] as T; // indexes are those of the list
}
