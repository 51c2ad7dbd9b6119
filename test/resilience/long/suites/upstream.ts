import assert from 'node:assert/strict';
import { orderBookUpstream } from 'intentbook/upstream';
import { account, signOrder } from '../../../support/orders.ts';
import { playFollowing } from '../../../support/upstream/following.ts';
import { playRelay } from '../../../support/upstream/relaying.ts';
import { startSecondBook } from '../../../support/upstream/second-book.ts';
import type { LongSuite } from '../suite.ts';

const FAULTS = {
  'cut before': 0.05,
  'cut after': 0.05,
  doubled: 0.05,
  late: 0.05,
  '429': 0.01,
  '503': 0.02,
  html: 0.02,
};
const SUBMISSIONS = 5_000;

/** Submits orders over HTTP in turn to a book and to one in front of it. Returns the medians in milliseconds. */
async function measureLatency(): Promise<{ readonly direct: number; readonly relayed: number }> {
  const other = await startSecondBook();
  const budget = { read: 1e6, write: 1e6, quote: 1e6 };
  const upstream = orderBookUpstream({ url: other.url, budget });
  const front = await startSecondBook({ upstream });
  const urls = { direct: other.url, relayed: front.url };
  const times: Record<keyof typeof urls, number[]> = { direct: [], relayed: [] };
  const validTo = Math.floor(Date.now() / 1000) + 3600;
  for (let i = 0; i < 400; i++) {
    for (const name of ['direct', 'relayed'] as const) {
      const changes = { validTo, sellAmount: String(10 ** 9 + 2 * i + (name === 'direct' ? 0 : 1)) };
      const body = JSON.stringify(await signOrder(account(i + 1), changes));
      const begin = performance.now();
      const response = await fetch(`${urls[name]}/api/v1/orders`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body,
      });
      assert.equal(response.status, 201, await response.text());
      times[name].push(performance.now() - begin);
    }
  }
  await front.close();
  await other.close();
  const median = (values: readonly number[]) => [...values].sort((a, b) => a - b)[values.length >> 1] ?? 0;
  return { direct: median(times.direct), relayed: median(times.relayed) };
}

export const suite: LongSuite = {
  description: 'a book in front of another one: 10,000 followed orders, 10^5 transitions with faults, 10,000 relays',
  async run({ milliseconds, seed, count, note }) {
    const end = Date.now() + milliseconds;
    const { direct, relayed } = await measureLatency();
    note('milliseconds of a submission, direct and relayed', `${direct.toFixed(2)} ${relayed.toFixed(2)}`);
    for (let n = 0; n === 0 || Date.now() < end; n++) {
      const calm = await playFollowing({
        seed: seed + n,
        orders: 10_000,
        minutes: 20,
        fillsPerBlock: 20,
        cancellationsPerMinute: 60,
        hasFaults: false,
      });
      assert.deepEqual(calm.problems, []);
      const { cancellationDelay, fillDelay, readsPerSecond } = calm;
      note('reads a second, 10,000 orders', readsPerSecond);
      note('seconds to a cancellation, p50 and p99', `${cancellationDelay.p50} ${cancellationDelay.p99}`);
      note('seconds to a fill, p50 and p99', `${fillDelay.p50} ${fillDelay.p99}`);
      assert.ok(cancellationDelay.p99 <= 60 && fillDelay.p99 <= 2 && readsPerSecond <= 1.5, 'a bar is exceeded');

      const rough = await playFollowing({
        seed: seed + n,
        orders: 2_000,
        minutes: 300,
        fillsPerBlock: 70,
        cancellationsPerMinute: 2,
        hasFaults: true,
      });
      assert.deepEqual(rough.problems, []);
      count('transitions with faults', rough.transitions);
      count('reorganisations', rough.reorganisations);
      count('restarts', rough.restarts);

      for (const relay of ['direct', 'queue'] as const) {
        const relayed = await playRelay({ seed: seed + n, submissions: SUBMISSIONS, rate: 2, relay, faults: FAULTS });
        assert.deepEqual(relayed.problems, []);
        count(`submissions, ${relay}`, SUBMISSIONS);
        count(`accepted, ${relay}`, relayed.accepted);
        count(`unavailable, ${relay}`, relayed.unavailable);
        count('restarts', relayed.restarts);
      }
    }
  },
};
