import { memoryStore } from 'intentbook/memory';
import { serve } from 'intentbook/server';
import { expect, test } from 'vitest';
import { toRateLimitOptions } from '../../../apps/server/http/rate-limit.ts';

/** Requests that a client repeats without regard to their rejections. */
const REPEATS = 40;

/** Repeats a request until another one, which began later, is answered before it. Returns whether that happened. */
async function isDelayed(url: string): Promise<boolean> {
  const statuses: Promise<number>[] = [];
  for (let i = 0; i < REPEATS; i++) {
    const answer = fetch(`${url}/api/v1/version`, { headers: { 'x-forwarded-for': '203.0.113.9' } });
    statuses.push(answer.then(({ status }) => status));
    const live = async () => {
      for (let n = 0; n < 50; n++) await (await fetch(`${url}/live`)).text();
      return 'live';
    };
    const isFirst = (await Promise.race([answer, live()])) === 'live';
    // An admitted request may be slow, because it loads modules.
    if (isFirst && (await statuses.at(-1)) === 429) return true;
  }
  expect(await Promise.all(statuses)).toContain(429);
  return false;
}

test.each([
  ['late, because it has more of them than reads', undefined, true],
  ['at once behind a proxy, which has few connections for all clients', ['127.0.0.1'], false],
])('the rejections of a client that ignores them are sent %s', async (_, trustedProxies, expected) => {
  const rateLimit = { reads: 1, writes: 1, streams: 1 };
  const choice = trustedProxies === undefined ? {} : { trustedProxies };
  const server = await serve({ port: 0, store: memoryStore(), accounts: 'off', rateLimit, ...choice });
  expect(await isDelayed(server.url)).toBe(expected);
  await server.close();
});

test('the late rejections of many connections of a client are sent one after the other', async () => {
  const rateLimit = { reads: 1, writes: 1, streams: 1 };
  const { limiter } = toRateLimitOptions({ rateLimit, trustedProxies: [], apiKeys: [] }, () => undefined);
  let ticks = 0;
  const count = setInterval(() => ticks++, 1);
  const seen = await Promise.all(
    Array.from({ length: 100 }, async () => {
      const admission = await limiter?.take('client', 'read', 1);
      return admission?.status === 'rejected' ? [ticks] : [];
    }),
  );
  clearInterval(count);
  const late = seen.flat().filter((tick) => tick > 0);
  expect(late.length).toBeGreaterThan(50);
  expect(new Set(late).size).toBeGreaterThan(1);
});
