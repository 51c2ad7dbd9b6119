import type { AuctionRunOptions, OrderBook } from 'intentbook';
import { expect, it } from 'vitest';
import { runAuctions } from '../../../apps/server/books/run-auctions.ts';

type Problems = Parameters<NonNullable<AuctionRunOptions['onRound']>>[0]['problems'];

/** Runs auctions with these problems. @returns the reported texts of each auction. */
async function getReports(rounds: readonly Problems[]): Promise<string[][]> {
  const reports: string[][] = [];
  const book = {
    reportError: (failure: Error) => void reports.at(-1)?.push(failure.message),
    auctions: {
      async run({ onRound }: AuctionRunOptions) {
        for (const [i, problems] of rounds.entries()) {
          reports.push([]);
          const none = { auctionId: i, block: 1, deadlineBlock: 2, rules: 1, solutions: [] };
          onRound?.({ ...none, problems });
        }
      },
    },
  };
  const times = { solveTime: 1, submissionBlocks: 1, driverBanTime: 1 };
  const settings = { drivers: ['http://a', 'http://b'], compressAuctions: false, auctionDeltas: false, ...times };
  await runAuctions(book as unknown as OrderBook, settings); // only these members are used
  return reports;
}

const problem = (driver: string, reason: string) => ({ driver, step: 'solve' as const, reason });

it('reports the problems of drivers once, as long as each auction has them', async () => {
  const problems = [problem('a', 'no route'), problem('a', 'late'), problem('b', 'late')];
  const texts = ['driver a: solve: no route', 'driver a: solve: late', 'driver b: solve: late'];
  expect(await getReports([problems, problems, problems])).toEqual([texts, [], []]);
});

it('reports a problem of a driver again after an auction without it', async () => {
  const [first, second] = [problem('a', 'no route'), problem('b', 'late')];
  expect(await getReports([[first, second], [second], [first, second]])).toEqual([
    ['driver a: solve: no route', 'driver b: solve: late'],
    [],
    ['driver a: solve: no route'],
  ]);
});

it('reports a problem of a driver once if only the order, amounts and ids of each auction are others', async () => {
  const name = (n: number) => `0x${String(n).repeat(112)}`;
  const round = (n: number) => [
    problem('a:1', `order ${name(n)} must be executed with 1 to ${n}000 atoms, got 0`),
    problem('a:2', `order ${name(n)} must be executed with 1 to ${n}000 atoms, got 0`),
    problem('a:1', `order ${name(n)} has a limit of 0`),
    problem('a:1', `order ${name(n + 1)} has a limit of 0`),
  ];
  const texts = round(1).map(({ driver, reason }) => `driver ${driver}: solve: ${reason}`);
  expect(await getReports([round(1), round(2), round(3)])).toEqual([texts.slice(0, 3), [], []]);
});
