import { createDriver } from 'intentbook/solver';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { parseQuote } from '../../../adapters/upstream/quote.ts';
import { cmsAnnouncements } from '../../../apps/server/books/cms.ts';
import type { UpstreamBook } from '../../../src/upstream/context.ts';
import { createUpstreamQuotes } from '../../../src/upstream/quotes.ts';
import { serveFetch } from '../../support/fetch-server.ts';
import { createPublicShapes } from '../../support/upstream/public-shapes.ts';

const LOCAL = '2026-05-11T08:09:10.123';
const call = { signal: new AbortController().signal };
const QUOTE = `sellToken=0x${'33'.repeat(20)}&buyToken=0x${'44'.repeat(20)}&kind=sell&amount=1`;

/** Returns the time of an announcement of a content system. */
async function readAnnouncement(createdAt: string): Promise<number | undefined> {
  const server = await serveFetch(async () => Response.json([{ id: 1, description: 'news', createdAt }]));
  onTestFinished(() => server.close());
  const [announcement] = await cmsAnnouncements({ url: server.url, apiKey: 'key' })(`0x${'11'.repeat(20)}`, call);
  return announcement?.at;
}

/** Returns the expiry of a quote of another book. */
async function readQuote(expiration: string): Promise<number | undefined> {
  let expiresAt: number | undefined;
  const quote = parseQuote({ ...(await createPublicShapes()).quote, expiration });
  const book = {
    upstream: { name: 'other', quote: async () => ({ status: 'quoted', quote }) },
    store: {
      quotes: {
        async insert(record: { readonly expiresAt: number }) {
          expiresAt = record.expiresAt;
          return 1;
        },
      },
    },
    tasks: { write: async () => undefined },
  } as unknown as UpstreamBook; // the members that a quote uses
  await createUpstreamQuotes(book).request({});
  return expiresAt;
}

/** Returns the deadline that an engine receives from a request of a book. */
async function readDeadline(path: string, body?: object): Promise<number | undefined> {
  let received: number | undefined;
  const driver = createDriver({
    engine: {
      name: 'test',
      async solve({ deadline }) {
        received = deadline;
        return [];
      },
    },
    settler: { address: `0x${'22'.repeat(20)}`, simulate: async () => undefined, submit: () => Promise.reject() },
  });
  await driver.handle(
    new Request(`http://driver/${path}`, body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
  );
  return received;
}

describe('date of another service without a zone', () => {
  const { TZ } = process.env;
  beforeAll(() => {
    process.env['TZ'] = 'America/Los_Angeles';
  });
  afterAll(() => {
    if (TZ === undefined) delete process.env['TZ'];
    else process.env['TZ'] = TZ;
  });

  test.each<[string, (text: string) => Promise<number | undefined>]>([
    ['announcement', readAnnouncement],
    ['quote of another book', readQuote],
    ['deadline of an auction', (deadline) => readDeadline('solve', { id: '1', orders: [], tokens: [], deadline })],
    ['deadline of a quote', (deadline) => readDeadline(`quote?${QUOTE}&deadline=${deadline}`)],
  ])('is in UTC: %s', async (_name, read) => {
    expect(await read(`${LOCAL}Z`)).toBe(Date.parse(`${LOCAL}Z`));
    expect(await read(LOCAL)).toBe(Date.parse(`${LOCAL}Z`));
    expect(await read(LOCAL.replace('T', ' '))).toBe(Date.parse(`${LOCAL}Z`)); // RFC 3339, 5.6
  });
});
