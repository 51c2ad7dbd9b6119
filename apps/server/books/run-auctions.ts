import type { OrderBook } from 'intentbook';

/** Settings of auctions with drivers. */
export interface DriverSettings {
  /** URLs of the drivers. Absent: the server runs no auctions. */
  readonly drivers?: readonly string[] | undefined;
  readonly compressAuctions: boolean;
  readonly auctionDeltas: boolean;
  /** Milliseconds. */
  readonly solveTime: number;
  readonly submissionBlocks: number;
  readonly driverBanAfter?: number | undefined;
  /** Seconds. */
  readonly driverBanTime: number;
}

/**
 * Runs the auctions of a book until it is closed. A problem of a driver is reported as a failure of the book when it
 * first occurs, and again after an auction without it.
 */
export async function runAuctions(
  book: OrderBook,
  {
    drivers = [],
    compressAuctions: compress,
    auctionDeltas: deltas,
    solveTime,
    submissionBlocks,
    driverBanAfter,
    driverBanTime,
  }: DriverSettings,
): Promise<void> {
  if (drivers.length === 0) return;
  const { httpDriver } = await import('intentbook/drivers');
  let reported: ReadonlySet<string> = new Set();
  await book.auctions.run({
    drivers: drivers.map((url) => httpDriver(url, { name: getDriverName(url), compress, deltas })),
    solveTime,
    submissionBlocks,
    banAfter: driverBanAfter ?? 'never',
    banTime: driverBanTime * 1000,
    onRound({ problems }) {
      const texts = new Set(problems.map(({ driver, step, reason }) => `driver ${driver}: ${step}: ${reason}`));
      for (const text of texts) if (!reported.has(text)) book.reportError(new Error(text));
      reported = texts;
    },
    onSettled({ driver, auctionId, reason }) {
      if (reason === undefined) return;
      book.reportError(new Error(`driver ${driver}: settle: auction ${auctionId}: ${reason}`));
    },
  });
}

/** Returns the name of a driver: its host and path, without a password. */
function getDriverName(url: string): string {
  const { host, pathname } = new URL(url);
  return host + pathname.replace(/\/+$/, '');
}
