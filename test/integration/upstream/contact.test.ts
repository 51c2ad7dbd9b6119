import { createOrderBook } from 'intentbook';
import { memoryStore } from 'intentbook/memory';
import { orderBookUpstream } from 'intentbook/upstream';
import { afterEach, expect, test } from 'vitest';
import { manualClock } from '../../support/clock.ts';
import { SEPOLIA } from '../../support/orders.ts';
import { settle } from '../../support/upstream/world.ts';

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const each of open.splice(0)) await each.close();
});

/** Starts a book without orders in front of another one. */
async function start(respond: () => Response | Error) {
  const clock = manualClock();
  const fetch = async () => {
    const response = respond();
    if (response instanceof Error) throw response;
    return response;
  };
  const upstream = orderBookUpstream({ url: 'http://other.example', fetch });
  const book = createOrderBook({ chainId: SEPOLIA, store: memoryStore(), clock, upstream });
  open.push(book);
  const failures: string[] = [];
  book.on('failure', (failure) => failures.push(String(failure)));
  await book.start();
  async function pass(seconds: number): Promise<void> {
    for (let i = 0; i < seconds; i++) {
      clock.advance(1000);
      await settle();
    }
  }
  return { book, failures, pass };
}

const refused = () =>
  new TypeError('fetch failed', { cause: Object.assign(new Error('refused'), { code: 'ECONNREFUSED' }) });
const missing = () => Response.json({ errorType: 'NotFound', description: 'there is no such route' }, { status: 404 });

test.each([
  ['whose URL is wrong', missing, 'responded with status 404 (NotFound): there is no such route'],
  ['that cannot be reached', refused, 'no response: ECONNREFUSED'],
])('an upstream %s is reported once after the start, and in readiness', async (_, respond, reason) => {
  const { book, failures, pass } = await start(respond);
  await expect
    .poll(() => failures, { timeout: 20_000 })
    .toEqual([expect.stringContaining(`upstream other.example: read fails: ${reason}`)]);
  await pass(120);
  expect(failures).toHaveLength(1);
  const { checks } = await book.ready();
  expect(checks?.['upstream']).toContain(reason);
});
