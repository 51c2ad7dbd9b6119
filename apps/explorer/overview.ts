import type { Order, OrderBook } from 'intentbook';
import { createEventCounts, type EventCounts } from './event-counts.ts';

/** Orders that the statistics cover. */
const SAMPLE = 1_000;

/** Competitions that the statistics of solvers cover. */
const COMPETITIONS = 50;

/** Time for which statistics are reused, in milliseconds. */
const FRESH = 5_000;

/** Tokens with the most fills that are listed. */
const TOKENS = 8;

/** Whether competitions are read only after their deadline block. */
export interface CompetitionReads {
  readonly published: boolean;
}

/** Statistics of a book. */
export interface Overview extends EventCounts {
  /** Number of orders that `statuses` and `tokens` cover: the newest ones. */
  readonly sample: number;
  /** Number of orders by status. */
  readonly statuses: Readonly<Record<string, number>>;
  /** Sell tokens with the most filled orders, with the executed amount in atoms. */
  readonly tokens: readonly { readonly token: string; readonly sold: string; readonly fills: number }[];
  /** Number of auctions that each solver has won, of the newest ones. */
  readonly solvers: readonly { readonly solver: string; readonly wins: number }[];
}

/** Creates a function that returns the statistics of a book. Concurrent calls share one computation. */
export function createOverview(book: OrderBook, reads: CompetitionReads): () => Promise<Overview> {
  const counts = createEventCounts(book);
  let cached: { readonly at: number; readonly overview: Promise<Overview> } | undefined;

  async function compute(): Promise<Overview> {
    const { orders } = await book.orders.list({ limit: SAMPLE });
    return {
      ...(await counts.read()),
      sample: orders.length,
      statuses: countStatuses(orders),
      tokens: sumTokens(orders),
      solvers: await countWins(book, reads),
    };
  }

  return () => {
    const now = book.clock.now();
    if (cached === undefined || now - cached.at >= FRESH || now < cached.at) {
      const overview = compute();
      cached = { at: now, overview };
      overview.catch(() => {
        cached = undefined;
      });
    }
    return cached.overview;
  };
}

function countStatuses(orders: readonly Order[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { status } of orders) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

function sumTokens(orders: readonly Order[]): Overview['tokens'] {
  const sums = new Map<string, { sold: bigint; fills: number }>();
  for (const { sellToken, executedSellAmountBeforeFees } of orders) {
    const sold = BigInt(executedSellAmountBeforeFees);
    if (sold === 0n) continue;
    const sum = sums.get(sellToken) ?? { sold: 0n, fills: 0 };
    sums.set(sellToken, { sold: sum.sold + sold, fills: sum.fills + 1 });
  }
  return [...sums]
    .sort(([, a], [, b]) => b.fills - a.fills)
    .slice(0, TOKENS)
    .map(([token, { sold, fills }]) => ({ token, sold: String(sold), fills }));
}

async function countWins(book: OrderBook, reads: CompetitionReads): Promise<Overview['solvers']> {
  const wins = new Map<string, number>();
  for (const { solutions } of await recentCompetitions(book, COMPETITIONS, reads)) {
    const winners = solutions.filter(({ isWinner }) => isWinner).map(({ solverAddress }) => solverAddress);
    for (const solver of new Set(winners)) wins.set(solver, (wins.get(solver) ?? 0) + 1);
  }
  return [...wins].sort(([, a], [, b]) => b - a).map(([solver, count]) => ({ solver, wins: count }));
}

type StoredCompetition = NonNullable<Awaited<ReturnType<OrderBook['auctions']['latestCompetition']>>>;

/** Returns the competitions of the highest auction ids, newest first. Reads at most `limit` ids. */
export async function recentCompetitions(
  book: OrderBook,
  limit: number,
  reads: CompetitionReads,
): Promise<StoredCompetition[]> {
  const latest = await book.auctions.latestCompetition(reads);
  if (latest === undefined) return [];
  const found = [latest];
  for (let id = latest.auctionId - 1; id > 0 && id > latest.auctionId - limit; id--) {
    const competition = await book.auctions.competition(id, reads);
    if (competition !== undefined) found.push(competition);
  }
  return found;
}
