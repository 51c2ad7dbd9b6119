import type { OrderBook } from 'intentbook';
import type { DRIVER_SETTINGS } from '../settings/driver-settings.ts';
import type { ParsedBookSettings } from '../settings/schema.ts';

/** UIDs, hashes, addresses, amounts and ids. A status has fewer digits. */
const VALUES = /0x[0-9a-f]{40,}|\d{4,}/gi;

/**
 * Runs the auctions of a book until it is closed. A problem of a driver is reported as a failure of the book when it
 * first occurs, and again after an auction without it. The same problem with another order is not reported again.
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
  }: Pick<ParsedBookSettings, Exclude<keyof typeof DRIVER_SETTINGS, 'quoteDrivers'>>,
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
      const found = new Set<string>();
      for (const { driver, step, reason } of problems) {
        const source = `driver ${driver}: ${step}: `;
        const kind = source + reason.replace(VALUES, '');
        if (!reported.has(kind) && !found.has(kind)) book.reportError(new Error(source + reason));
        found.add(kind);
      }
      reported = found;
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
