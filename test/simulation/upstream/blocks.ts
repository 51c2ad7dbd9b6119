import type { Address, Hex, Order } from 'intentbook';
import type { ProtocolEvent } from 'intentbook/chain-events';
import type { Happening } from '../../support/chain-events.ts';
import { createPlacement } from '../accounts/placement.ts';
import type { SeededRandom } from '../machine/random.ts';
import { BUY_TOKEN, SELL_TOKEN } from '../orders/pool-order.ts';

/** A fill of an order. */
export interface Fill {
  readonly uid: Hex;
  readonly sold: bigint;
  readonly bought: bigint;
  readonly transactionHash: Hex;
}

/** What an owner does on chain: a pre-signature, its revocation, an invalidation, or an order that is placed. */
export interface Act {
  /** `undefined`: a placement. */
  readonly uid: Hex | undefined;
  readonly happening: Happening;
}

/** A block of the simulated chain. */
export interface Block {
  readonly number: number;
  readonly hash: Hex;
  readonly timestamp: number;
  readonly acts: readonly Act[];
  readonly fills: readonly Fill[];
}

/** The account that places orders for native currency. */
export const PLACER: Address = `0x${'7a'.repeat(20)}`;

/** Renders the events of a block. */
export function toEvents({ number, hash, timestamp, acts, fills }: Block): ProtocolEvent[] {
  const trades = fills.map(({ uid: orderUid, sold, bought, transactionHash }): Happening => {
    const owner: Hex = `0x${orderUid.slice(66, 106)}`;
    const amounts = { sellAmount: sold, buyAmount: bought, feeAmount: 0n };
    return { event: 'Trade', owner, sellToken: SELL_TOKEN, buyToken: BUY_TOKEN, ...amounts, orderUid, transactionHash };
  });
  return [...acts.map(({ happening }) => happening), ...trades].map((happening, logIndex): ProtocolEvent => {
    const { transactionHash = `0x${'00'.repeat(32)}` } = happening;
    return { ...happening, blockNumber: number, blockHash: hash, logIndex, timestamp, transactionHash };
  });
}

/** Draws what the owner of an order does with it on chain. */
export function drawAct(random: SeededRandom, order: Order | undefined, transactionHash: Hex): Act[] {
  if (order === undefined || order.onchainUser !== undefined) return [];
  const { uid, owner, status, signingScheme } = order;
  if (status === 'presignaturePending') return [sign(order, true, transactionHash)];
  if (status !== 'open' || (signingScheme !== 'presign' && signingScheme !== 'eip1271')) return [];
  if (signingScheme === 'presign' && random.chance(0.3)) return [sign(order, false, transactionHash)];
  if (random.chance(0.7)) return [];
  return [{ uid, happening: { event: 'OrderInvalidated', owner, orderUid: uid, transactionHash } }];
}

function sign({ uid, owner }: Order, signed: boolean, transactionHash: Hex): Act {
  return { uid, happening: { event: 'PreSignature', owner, orderUid: uid, signed, transactionHash } };
}

/** Places an order for native currency. Its position is that of its block. */
export function place(sellAmount: bigint, validTo: number, transactionHash: Hex) {
  const block = { number: 0, hash: transactionHash };
  const terms = { trader: PLACER, kind: 'sell', sellAmount, buyAmount: 500n, validTo, buy: { address: BUY_TOKEN } };
  const { order, event } = createPlacement({ ...terms, block, timestamp: 0, tx: transactionHash } as never);
  const act: Act = { uid: undefined, happening: { ...event, timestamp: 0 } };
  return { act, order: { uid: order.uid, signer: -1, sellAmount, buyAmount: 500n, validTo, isKnown: false } };
}

/** Returns what is mined again after a fork. What depends on an act that is not mined again is lost with it. */
export function remine(removed: readonly Block[], isKept: () => boolean): Pick<Block, 'acts' | 'fills'>[] {
  const lost = new Set<Hex>();
  return removed.map(({ acts, fills }) => ({
    acts: acts.filter(({ uid }) => {
      if (uid === undefined || (!lost.has(uid) && isKept())) return true;
      lost.add(uid);
      return false;
    }),
    fills: fills.filter(({ uid }) => isKept() && !lost.has(uid)),
  }));
}
