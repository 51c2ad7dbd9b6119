import type { Address, BlockHeader, Hex } from 'intentbook';
import type { ChainLog } from 'intentbook/chain-events';
import type { SeededRandom } from '../machine/random.ts';
import type { Pool } from '../orders/pool.ts';
import type { PoolOrder } from '../orders/pool-order.ts';
import { BUY_TOKEN, SELL_TOKEN } from '../orders/pool-order.ts';
import { encodePlacedInvalidation, encodePlacement, PLACING_CONTRACT } from './placements.ts';
import { encodeSettleCall, encodeSettlementLog, hasOtherTerms } from './settlements.ts';

/** Something that happens to an order on chain. */
export interface ChainFact {
  readonly type: 'trade' | 'invalidation' | 'signature' | 'placement';
  readonly order: number;
  /** Atoms, of a trade. */
  readonly sold: bigint;
  readonly bought: bigint;
  /** Of a pre-signature. */
  readonly signed: boolean;
  /** The transaction. It keeps its hash if a fork includes it again. */
  readonly transactionHash: Hex;
}

/** A block of one of the forks. */
export interface SimulatedBlock extends BlockHeader {
  readonly parent: SimulatedBlock | undefined;
  readonly facts: readonly ChainFact[];
  readonly logs: readonly ChainLog[];
}

/** A wish for a fact. What the contract does not allow is left out. */
export interface FactPlan {
  readonly type: ChainFact['type'];
  readonly order: number;
  /** Atoms of the fixed side of a trade; selects the meaning of a pre-signature. */
  readonly amount: number;
}

/** A chain with forks. */
export interface SimulatedChain {
  readonly head: SimulatedBlock;
  /** The time of the newest block of all forks, in seconds since 1970. */
  readonly latestTime: number;
  mine(plans: readonly FactPlan[]): void;
  /**
   * Replaces the newest blocks by one more block than before.
   *
   * @param keep - Whether the new blocks include the transactions again.
   */
  fork(depth: number, keep: boolean): void;
  find(hash: Hex): SimulatedBlock | undefined;
  /** Returns the calldata of the settlements of transactions. */
  findSettleCalls(transactions: readonly Hex[]): ReadonlyMap<Hex, readonly Hex[]>;
}

/**
 * Draws the difference between the time of blocks and the correct time, in seconds. Trades before the registration of
 * their trader do not count, so blocks are not late with statistics.
 */
export function drawTimeDifference(random: SeededRandom, hasStatistics: boolean): number {
  if (random.chance(0.8)) return 0;
  return random.pick([10, 300, 3_600, 5_000, ...(hasStatistics ? [] : [-10, -3_600])]);
}

export interface SimulatedChainContext {
  readonly pool: Pool;
  readonly settlementContract: Address;
  /** Whether the trades of a transaction are a settlement, with an event and calldata. */
  readonly hasSettlements: boolean;
  /** Returns the auction that a settlement with these trades names. */
  readonly nameAuction: (transactionHash: Hex, trades: readonly ChainFact[]) => number | undefined;
  /** Returns the time in seconds since 1970. */
  readonly now: () => number;
}

/** Creates a chain with one block. */
export function createSimulatedChain(context: SimulatedChainContext): SimulatedChain {
  const { pool, settlementContract, hasSettlements, nameAuction, now } = context;
  const settleCalls = new Map<Hex, readonly Hex[]>();
  const blocks = new Map<Hex, SimulatedBlock>();
  let transactions = 0;
  let latestTime = 0;
  let head = addBlock(undefined, []);

  function addBlock(parent: SimulatedBlock | undefined, facts: readonly ChainFact[]): SimulatedBlock {
    const number = parent === undefined ? 100 : parent.number + 1;
    const hash = toHash('b10c', blocks.size + 1);
    const header = {
      number,
      hash,
      parentHash: parent?.hash ?? toHash('b10c', 0),
      timestamp: Math.max(now(), (parent?.timestamp ?? 0) + 1),
    };
    const logs = facts.map((fact, logIndex): ChainLog => {
      const { transactionHash, order } = fact;
      const position = { blockNumber: number, blockHash: hash, logIndex, transactionHash };
      const subject = at(pool, order);
      const isPlacing = subject.placedBy !== undefined && (fact.type === 'placement' || fact.type === 'invalidation');
      const address = isPlacing ? PLACING_CONTRACT : settlementContract;
      return { ...position, timestamp: header.timestamp, address, ...encodeLog(fact, subject) };
    });
    if (hasSettlements) logs.push(...createSettlements(header, facts));
    const block = { ...header, parent, facts, logs };
    blocks.set(hash, block);
    latestTime = Math.max(latestTime, block.timestamp);
    return block;
  }

  /** Returns the settlements of a block after its facts, whose logs so have the same positions in every simulation. */
  function createSettlements(header: BlockHeader, facts: readonly ChainFact[]): ChainLog[] {
    const { number: blockNumber, hash: blockHash, timestamp } = header;
    const trades = facts.filter(({ type }) => type === 'trade');
    return [...new Set(trades.map((fact) => fact.transactionHash))].map((transactionHash, i): ChainLog => {
      const own = trades.filter((fact) => fact.transactionHash === transactionHash);
      const auction = nameAuction(transactionHash, own);
      settleCalls.set(transactionHash, [encodeSettleCall(own, pool, auction)]);
      const position = { blockNumber, blockHash, logIndex: facts.length + i, transactionHash, timestamp };
      return { ...position, address: settlementContract, ...encodeSettlementLog() };
    });
  }

  /** Returns the facts of plans after a block, as far as the contract allows them. */
  function realize(parent: SimulatedBlock, plans: readonly FactPlan[]): ChainFact[] {
    const facts: ChainFact[] = [];
    const earlier = listPositions(parent).map(({ fact }) => fact);
    for (const { type, order: n, amount } of plans) {
      const { kind, sellAmount, buyAmount } = at(pool, n);
      // Neighbours sometimes share a transaction.
      if (facts.length === 0 || amount % 2 === 0) transactions++;
      const transactionHash = toHash('7a', transactions);
      const base = { type, order: n, sold: 0n, bought: 0n, signed: amount % 3 !== 0, transactionHash };
      const before = [...earlier, ...facts];
      if (!isAllowed(type, at(pool, n), before)) continue;
      if (type !== 'trade') {
        facts.push(base);
        continue;
      }
      const left = getRemaining(at(pool, n), before);
      const fixed = BigInt(amount) < left ? BigInt(amount) : left;
      if (fixed === 0n) continue;
      const other =
        kind === 'sell' ? (fixed * buyAmount + sellAmount - 1n) / sellAmount : (fixed * sellAmount) / buyAmount;
      const trade = { ...base, sold: kind === 'sell' ? fixed : other, bought: kind === 'sell' ? other : fixed };
      // Books count equal trades of a transaction by its calldata, which a chain cannot contradict.
      const isEqual = (fact: ChainFact) =>
        fact.transactionHash === transactionHash && fact.order === n && fact.sold === trade.sold;
      if ((!hasSettlements || hasOtherTerms(at(pool, n))) && facts.some(isEqual)) continue;
      facts.push(trade);
    }
    return facts;
  }

  return {
    get head() {
      return head;
    },
    get latestTime() {
      return latestTime;
    },
    mine(plans) {
      head = addBlock(head, realize(head, plans));
    },
    fork(depth, keep) {
      const removed: SimulatedBlock[] = [];
      for (let i = 0; i < depth && head.parent !== undefined; i++) {
        removed.unshift(head);
        head = head.parent;
      }
      for (const { facts } of removed) head = addBlock(head, keep ? facts : []);
      head = addBlock(head, []);
    },
    find: (hash) => blocks.get(hash),
    findSettleCalls: (transactions) =>
      new Map(transactions.flatMap((hash) => (settleCalls.has(hash) ? [[hash, settleCalls.get(hash) ?? []]] : []))),
  };
}

/** Returns whether the contracts allow a fact after others. A placed order can be used until it is invalidated. */
function isAllowed(
  type: FactPlan['type'],
  { index, placedBy, scheme, owner }: PoolOrder,
  before: readonly ChainFact[],
): boolean {
  if (type === 'placement' && placedBy === undefined) return false;
  if (type === 'signature') return scheme === 'presign';
  if (placedBy === undefined) return true;
  // A contract invalidates its own orders only.
  if (type === 'invalidation' && owner !== PLACING_CONTRACT) return false;
  const has = (wanted: ChainFact['type']) => before.some((fact) => fact.order === index && fact.type === wanted);
  return type === 'placement' ? !has('placement') : has('placement') && !has('invalidation');
}

/** A fact, and where it is. */
export interface FactPosition {
  readonly key: string;
  readonly fact: ChainFact;
  /** Time of its block, in seconds since 1970. */
  readonly timestamp: number;
  /** Number of its block, and index of its log. */
  readonly number: number;
  readonly logIndex: number;
}

const positions = new WeakMap<SimulatedBlock, readonly FactPosition[]>();

/** Returns the facts up to a block, in chain order, with the key of each. */
export function listPositions(block: SimulatedBlock): readonly FactPosition[] {
  const known = positions.get(block);
  if (known !== undefined) return known;
  const { hash, facts, timestamp, parent, number } = block;
  const own = facts.map((fact, i) => ({ key: `${hash} ${i}`, fact, timestamp, number, logIndex: i }));
  const earlier = parent === undefined ? [] : listPositions(parent);
  const all = own.length === 0 ? earlier : [...earlier, ...own];
  positions.set(block, all);
  return all;
}

/** The end of a settlement, and where its log is. */
export type SettlementPosition = Omit<FactPosition, 'fact'> & { readonly transactionHash: Hex };

const settlementPositions = new WeakMap<SimulatedBlock, readonly SettlementPosition[]>();

/** Returns the settlements up to a block, in chain order. Their logs follow those of the facts of their block. */
export function listSettlements(block: SimulatedBlock): readonly SettlementPosition[] {
  const known = settlementPositions.get(block);
  if (known !== undefined) return known;
  const { hash, facts, logs, timestamp, parent, number } = block;
  const own = logs.slice(facts.length).map(({ logIndex, transactionHash }) => {
    return { key: `${hash} ${logIndex}`, timestamp, number, logIndex, transactionHash: transactionHash as Hex };
  });
  const earlier = parent === undefined ? [] : listSettlements(parent);
  const all = own.length === 0 ? earlier : [...earlier, ...own];
  settlementPositions.set(block, all);
  return all;
}

function getRemaining({ index, kind, sellAmount, buyAmount }: PoolOrder, facts: readonly ChainFact[]): bigint {
  let left = kind === 'sell' ? sellAmount : buyAmount;
  for (const { type, order, sold, bought } of facts) {
    if (type === 'trade' && order === index) left -= kind === 'sell' ? sold : bought;
  }
  return left;
}

const toHash = (prefix: string, n: number): Hex => `0x${prefix}${n.toString(16).padStart(64 - prefix.length, '0')}`;
const word = (value: bigint | number) => value.toString(16).padStart(64, '0');
const toWord = (address: Address) => address.slice(2).padStart(64, '0');

/** The hashes of the event signatures. */
const TOPICS = {
  trade: '0xa07a543ab8a018198e99ca0184c93fe9050a79400a0a723441f84de1d972cc17',
  invalidation: '0x875b6cb035bbd4ac6500fabc6d1e4ca5bdc58a3e2b424ccb5c24cdbebeb009a9',
  signature: '0x01bf7c8b0ca55deecbea89d7e58295b7ffbf685fd0d96801034ba8c6ffe1c68d',
} as const;

/** Encodes an event of the settlement contract, as its ABI defines it. */
function encodeLog({ type, sold, bought, signed }: ChainFact, order: PoolOrder): Pick<ChainLog, 'topics' | 'data'> {
  const { owner, uid, placedBy } = order;
  if (type === 'placement') return encodePlacement(order);
  if (type === 'invalidation' && placedBy !== undefined) return encodePlacedInvalidation(order);
  // The UID is 56 bytes, padded to two words.
  const bytes = `${word(56)}${uid.slice(2)}${'0'.repeat(16)}`;
  const heads = {
    trade: [toWord(SELL_TOKEN), toWord(BUY_TOKEN), word(sold), word(bought), word(0), word(6 * 32)],
    invalidation: [word(32)],
    signature: [word(64), word(signed ? 1 : 0)],
  };
  return { topics: [TOPICS[type], `0x${toWord(owner)}`], data: `0x${heads[type].join('')}${bytes}` };
}

function at(pool: Pool, n: number): PoolOrder {
  return pool.orders[n] as PoolOrder; // indexes are those of the pool
}
