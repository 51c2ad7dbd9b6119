import * as z from 'zod/mini';
import { OrderBookError } from '../errors.ts';
import type { StoredCompetition } from '../ports/auctions.ts';
import type { SettlementChainEvent } from '../ports/chain-store.ts';
import type { Store } from '../ports/store.ts';
import type { Address, Hex } from '../protocol/hex.ts';
import { hexSchema, parseShape } from '../protocol/shape.ts';

/** How the solvers did in an auction (v2). Amounts are decimal strings of atoms, prices wei for 10^18 atoms. */
export interface Competition {
  readonly auctionId: number;
  readonly auctionStartBlock: number;
  readonly auctionDeadlineBlock: number;
  /** The transactions that have settled it: those it was recorded with, and those that the chain has told of. */
  readonly transactionHashes: readonly Hex[];
  readonly referenceScores: Readonly<Record<Address, string>>;
  readonly auction: { readonly orders: readonly Hex[]; readonly prices: Readonly<Record<Address, string>> };
  /** Worst first. */
  readonly solutions: readonly CompetitionSolution[];
}

/** What one solver made of an auction. */
export interface CompetitionSolution {
  readonly solverAddress: Address;
  readonly score: string;
  /** 1 is the best. */
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

const whole = (least = 0, error = 'must not be negative') => z.int().check(z.minimum(least, { error }));
const digits = () => z.string().check(z.regex(/^[0-9]{1,100}$/, { error: 'must be decimal digits only' }));
/** Sums of solvers may be larger than 256 bits; zeros in front say nothing. */
const amount = () =>
  z.pipe(
    digits(),
    z.transform((text: string) => text.replace(/^0+(?=\d)/, '')),
  );
const amounts = () => z._default(z.record(hexSchema(20), amount()), {});
const uids = () => z._default(z.array(hexSchema(56)), []);

/** What is sent in. For the description of the HTTP interface. */
export const competition = /* @__PURE__ */ z.object({
  auctionId: whole(1, 'must be a positive whole number'),
  auctionStartBlock: whole(),
  auctionDeadlineBlock: whole(),
  transactionHashes: z._default(z.array(hexSchema(32)), []),
  referenceScores: amounts(),
  auction: z._default(z.object({ orders: uids(), prices: amounts() }), { orders: [], prices: {} }),
  solutions: z.array(
    z.object({
      solverAddress: hexSchema(20),
      score: amount(),
      ranking: whole(1, 'must be 1 or more'),
      clearingPrices: amounts(),
      orders: z._default(
        z.array(
          z.object({
            id: hexSchema(56),
            sellAmount: amount(),
            buyAmount: amount(),
            buyToken: hexSchema(20),
            sellToken: hexSchema(20),
          }),
        ),
        [],
      ),
      isWinner: z.boolean(),
      filteredOut: z._default(z.boolean(), false),
      txHash: z._default(z.nullable(hexSchema(32)), null),
      referenceScore: z._default(z.nullable(amount()), null),
    }),
  ),
});

/** Competitions that are remembered: those of the highest auctions. */
const KEPT = 20_000;

/**
 * Reads a competition from outside.
 *
 * @returns the competition, its solutions worst first, or `InvalidBody` naming the first field that does not fit.
 */
export function parseCompetition(input: unknown): Competition | OrderBookError {
  const parsed = parseShape(competition, input);
  if (parsed instanceof OrderBookError) return parsed;
  return { ...parsed, solutions: [...parsed.solutions].sort((a, b) => b.ranking - a.ranking) };
}

export function recordCompetition(subject: Competition, { auctions }: Store): Promise<'recorded' | 'replaced'> {
  return auctions.record({ auctionId: subject.auctionId, body: JSON.stringify(subject) }, KEPT);
}

/** Reads the competition of an auction, with the transactions that have settled it since. */
export async function readCompetition(auctionId: number, store: Store): Promise<Competition | undefined> {
  const stored = await store.auctions.competition(auctionId);
  return stored && completed(stored, store);
}

/** The competition of the highest auction. */
export async function latestCompetition(store: Store): Promise<Competition | undefined> {
  const [stored] = await store.auctions.competitions(1);
  return stored && completed(stored, store);
}

/** The competition whose auction a transaction claims to settle. */
export async function competitionOfTransaction(hash: Hex, store: Store): Promise<Competition | undefined> {
  for (const { auctionId } of await store.chain.settlements(hash)) {
    const found = auctionId === null ? undefined : await readCompetition(auctionId, store);
    if (found !== undefined) return found;
  }
  return undefined;
}

async function completed({ auctionId, body }: StoredCompetition, store: Store): Promise<Competition> {
  const subject = JSON.parse(body) as Competition; // as it was recorded
  const settlements = await store.chain.settlementsOfAuction(auctionId);
  if (settlements.length === 0) return subject;
  const hashes = settlements.map(({ transactionHash }) => transactionHash);
  return {
    ...subject,
    transactionHashes: [...new Set([...subject.transactionHashes, ...hashes])],
    solutions: subject.solutions.map((solution) => ({
      ...solution,
      txHash: solution.txHash ?? getTransactionHash(solution, settlements),
    })),
  };
}

/** A solver settles its own winning solutions. With several in one auction nobody can tell which is which. */
function getTransactionHash(
  { solverAddress, isWinner }: CompetitionSolution,
  settlements: readonly SettlementChainEvent[],
): Hex | null {
  const own = settlements.filter(({ solver }) => solver === solverAddress);
  return isWinner && own.length === 1 ? (own[0]?.transactionHash ?? null) : null;
}

/** Whether some solution of a competition has an order. */
export function hasOrder({ solutions }: Competition, uid: Hex): boolean {
  return solutions.some(({ orders }) => orders.some(({ id }) => id === uid));
}
