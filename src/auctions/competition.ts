import { lazy } from '../concurrency/lifecycle.ts';
import { OrderBookError } from '../errors.ts';
import type { CompleteCompetition, StoredCompetition } from '../ports/auction-store.ts';
import type { SettlementChainEvent } from '../ports/chain-store.ts';
import type { Store } from '../ports/store.ts';
import type { Address, Hex } from '../protocol/hex.ts';
import { parseShape } from '../protocol/shape.ts';
import { competition } from '../records/competition-schema.ts';
import type { SettledCompetition } from '../records/settled-solution.ts';

/** The competition of an auction (v2). Amounts are decimal strings of atoms, prices are wei for 10^18 atoms. */
export interface Competition {
  readonly auctionId: number;
  readonly auctionStartBlock: number;
  readonly auctionDeadlineBlock: number;
  /** Settlement transactions: those in the record and those that were indexed. */
  readonly transactionHashes: readonly Hex[];
  readonly referenceScores: Readonly<Record<Address, string>>;
  readonly auction: { readonly orders: readonly Hex[]; readonly prices: Readonly<Record<Address, string>> };
  /** Solutions, worst first. */
  readonly solutions: readonly CompetitionSolution[];
}

/** A competition without the orders of its auction. */
export interface CompetitionSummary extends Omit<Competition, 'auction'> {
  readonly auction: Pick<Competition['auction'], 'prices'>;
}

/** The solution of one solver. */
export interface CompetitionSolution {
  readonly solverAddress: Address;
  readonly score: string;
  /** The rank; 1 is the best. */
  readonly ranking: number;
  readonly clearingPrices: Readonly<Record<Address, string>>;
  readonly orders: readonly {
    readonly id: Hex;
    readonly sellAmount: string;
    readonly buyAmount: string;
    readonly buyToken: Address;
    readonly sellToken: Address;
  }[];
  readonly isWinner: boolean;
  readonly filteredOut: boolean;
  readonly txHash: Hex | null;
  readonly referenceScore: string | null;
}

/** A choice among the recorded competitions. */
export interface CompetitionQuery {
  /**
   * Whether only competitions are returned whose deadline block has passed. Without indexed blocks no deadline has
   * passed. Default: false.
   */
  readonly published?: boolean;
}

/** Number of stored competitions: those of the highest auction ids. */
const KEPT = 20_000;

/**
 * Parses a competition.
 *
 * @returns the competition with its solutions worst first, or `InvalidBody` naming the first invalid field.
 */
export function parseCompetition(input: unknown): Competition | OrderBookError {
  const parsed = parseShape(competition, input);
  if (parsed instanceof OrderBookError) return parsed;
  return { ...parsed, solutions: [...parsed.solutions].sort((a, b) => b.ranking - a.ranking) };
}

/** A competition as it is stored. Earlier versions have stored the orders with it. */
type CompetitionRecord = CompetitionSummary &
  Pick<SettledCompetition<CompetitionSolution>, 'earlierTransactions'> & {
    readonly auction: { readonly orders?: readonly Hex[] };
  };

export async function recordCompetition(
  { auction: { orders, prices }, ...members }: Competition,
  { auctions, chain }: Store,
): Promise<'recorded' | 'replaced'> {
  const { auctionId, auctionDeadlineBlock: deadline } = members;
  const [stored, settlements] = await Promise.all([
    auctions.competition(auctionId),
    chain.settlementsOfAuction(auctionId),
  ]);
  const earlierTransactions =
    stored === undefined
      ? settlements.map(({ transactionHash }) => transactionHash)
      : parseRecord(stored).earlierTransactions;
  const body = JSON.stringify({ ...members, auction: { prices }, earlierTransactions });
  const uids: Hex = `0x${orders.map((uid) => uid.slice(2)).join('')}`;
  return auctions.record({ auctionId, deadline, body, orders: uids }, KEPT);
}

/** Returns whether a solution of a record can contain an order. To parse a record takes longer. */
const solves = ({ body }: StoredCompetition, uid: Hex) => body.includes(uid, body.lastIndexOf('"solutions":'));

const parseRecord = ({ body }: StoredCompetition) => JSON.parse(body) as CompetitionRecord; // stored from this type

/** Length of a UID without its prefix, in hex digits. */
const UID_DIGITS = 112;

function getOrders({ orders }: CompleteCompetition, { auction }: CompetitionRecord): readonly Hex[] {
  // An earlier version that replaces a record beside this one leaves the stored orders as they were.
  if (auction.orders !== undefined || orders === undefined) return auction.orders ?? [];
  const count = Math.floor((orders.length - 2) / UID_DIGITS);
  return Array.from({ length: count }, (_, i): Hex => {
    const start = 2 + i * UID_DIGITS;
    return `0x${orders.slice(start, start + UID_DIGITS)}`;
  });
}

/** Returns the record of the competition of an auction, with which settlements are compared, and its orders. */
export async function readCompetitionRecord(auctionId: number, { auctions }: Store) {
  const stored = await auctions.competition(auctionId);
  if (stored === undefined) return undefined;
  const record = parseRecord(stored);
  return { ...record, orders: getOrders(stored, record) };
}

/** Returns the competition of an auction, with the settlement transactions indexed since. */
export async function readCompetition(
  auctionId: number,
  store: Store,
  query?: CompetitionQuery,
): Promise<Competition | undefined> {
  const stored = await store.auctions.competition(auctionId);
  if (stored === undefined || !(await isVisible(stored, store, query))) return undefined;
  const record = parseRecord(stored);
  const { auction, ...members } = await complete(record, store);
  return { ...members, auction: { orders: getOrders(stored, record), prices: auction.prices } };
}

/** Returns the competition of the highest auction id. */
export async function latestCompetition(store: Store, query?: CompetitionQuery): Promise<Competition | undefined> {
  const block = query?.published === true ? await readBlock(store) : undefined;
  const [found] = await store.auctions.competitions(
    block === undefined ? { limit: 1 } : { limit: 1, deadlineBelow: block },
  );
  return found && readCompetition(found.auctionId, store, query); // it may be replaced meanwhile
}

/** Number of competitions whose settlements are read concurrently. */
const CONCURRENT = 32;

/**
 * Returns the competitions whose deadline is above a block, the highest auction id first.
 *
 * @param uid - An order that a solution must contain. Default: all competitions.
 */
export async function pendingCompetitions(block: number, store: Store, uid?: Hex): Promise<CompetitionSummary[]> {
  const all = await store.auctions.competitions({ limit: KEPT, deadlineAbove: block });
  const found = uid === undefined ? all : all.filter((stored) => solves(stored, uid));
  const pending: CompetitionSummary[] = [];
  for (let i = 0; i < found.length; i += CONCURRENT) {
    const part = found.slice(i, i + CONCURRENT).map((stored) => complete(parseRecord(stored), store));
    pending.push(...(await Promise.all(part)));
  }
  return pending;
}

async function isVisible(
  { deadline }: StoredCompetition,
  store: Store,
  query: CompetitionQuery = {},
): Promise<boolean> {
  return query.published !== true || deadline < (await readBlock(store));
}

/** Returns the indexed block. Without one, no deadline has passed. */
async function readBlock(store: Store): Promise<number> {
  return (await store.chain.progress()).indexedBlock?.number ?? 0;
}

export async function competitionOfTransaction(
  hash: Hex,
  store: Store,
  query?: CompetitionQuery,
): Promise<Competition | undefined> {
  for (const settlement of await store.chain.settlements(hash)) {
    const found = await competitionOfSettlement(settlement, store, query);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The comparison with settlements. Only competitions with settlements need it. */
const settledSolutions = lazy(() => import('../records/settled-solution.ts'));

/** Adds the settlement transactions that are indexed. */
async function complete(record: CompetitionRecord, store: Store): Promise<CompetitionSummary> {
  const { earlierTransactions: _, ...subject } = record;
  const settlements = await store.chain.settlementsOfAuction(record.auctionId);
  const hashes: Hex[] = [];
  const settled = new Map<CompetitionSolution, Hex>();
  for (const settlement of settlements) {
    const solution = await findSolutionOf(record, settlement, store);
    if (solution === undefined) continue;
    hashes.push(settlement.transactionHash);
    // A solver may settle a solution of partially fillable orders twice.
    if (!settled.has(solution)) settled.set(solution, settlement.transactionHash);
  }
  if (hashes.length === 0) return subject;
  return {
    ...subject,
    transactionHashes: [...new Set([...subject.transactionHashes, ...hashes])],
    solutions: subject.solutions.map((solution) => ({
      ...solution,
      txHash: solution.txHash ?? settled.get(solution) ?? null,
    })),
  };
}

/** Returns the solution of a competition that a settlement has executed. */
function findSolutionOf(subject: CompetitionRecord, settlement: SettlementChainEvent, store: Store) {
  return settledSolutions.use(async ({ findSettledSolution, readExecutedSettlement }) =>
    findSettledSolution(subject, await readExecutedSettlement(settlement, store)),
  );
}

export async function competitionOfSettlement(
  settlement: SettlementChainEvent,
  store: Store,
  query?: CompetitionQuery,
): Promise<Competition | undefined> {
  const { auctionId } = settlement;
  const record = auctionId === null ? undefined : await readCompetitionRecord(auctionId, store);
  if (record === undefined || (await findSolutionOf(record, settlement, store)) === undefined) return undefined;
  return readCompetition(record.auctionId, store, query);
}

/** Returns whether a solution of a competition contains an order. */
export function hasOrder({ solutions }: Pick<Competition, 'solutions'>, uid: Hex): boolean {
  return solutions.some(({ orders }) => orders.some(({ id }) => id === uid));
}

/** Number of the newest competitions that are searched for an order. */
const SEARCHED = 50;

/** Returns the competitions with an order among the newest, newest first. Their solutions are those with the order. */
export async function competitionsOfOrder(uid: Hex, store: Store): Promise<CompetitionSummary[]> {
  const stored = (await store.auctions.competitions({ limit: SEARCHED })).filter((each) => solves(each, uid));
  const found = await Promise.all(stored.map((each) => complete(parseRecord(each), store)));
  return found
    .map((each) => ({ ...each, solutions: each.solutions.filter(({ orders }) => orders.some(({ id }) => id === uid)) }))
    .filter(({ solutions }) => solutions.length > 0);
}
