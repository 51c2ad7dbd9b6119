import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { memoryStore } from 'intentbook/memory';
import type { Exchange, ServeOptions } from 'intentbook/server';
import { ConfigError, serve } from 'intentbook/server';
import { afterAll, describe, expect, test } from 'vitest';
import { createNamedKey } from '../../../apps/server/commands/create-key.ts';
import { cleanUp, intentbook, scratch } from './process.ts';

afterAll(cleanUp);

const PATH = '/api/v1/version';

/** Serves a book to two keys. The first has a budget of three reads, and its address one of five. */
async function keyed(options: ServeOptions = {}) {
  const [first, second] = ['maker', 'taker'].map(createNamedKey);
  if (first === undefined || second === undefined) throw new Error('two keys were created');
  const exchanges: Exchange[] = [];
  const server = await serve({
    port: 0,
    store: memoryStore(),
    accounts: 'off',
    rateLimit: { reads: 1, writes: 1, streams: 1 },
    apiKeys: [{ ...first.entry, reads: { perSecond: 1, burst: 3 } }, second.entry],
    onExchange: (exchange) => void exchanges.push(exchange),
    ...options,
  });
  const send = async (key?: string, path = PATH) => {
    const response = await fetch(server.url + path, key === undefined ? {} : { headers: { 'x-api-key': key } });
    return { status: response.status, body: await response.text() };
  };
  /** Sends requests until one is rejected, at most `most`. */
  const exhaust = async (key?: string) => {
    const statuses: number[] = [];
    while (statuses.length < 50 && statuses.at(-1) !== 429) statuses.push((await send(key)).status);
    return statuses;
  };
  return { server, send, exhaust, exchanges, first: first.key, second: second.key };
}

describe('API key', () => {
  test('has a budget that neither its address nor another key shares', async () => {
    const { server, send, exhaust, first, second } = await keyed();
    const statuses = await exhaust(first);
    expect(statuses.at(-1)).toBe(429);
    expect(statuses.length).toBeGreaterThanOrEqual(4);
    expect((await send(second)).status).toBe(200);
    expect((await send()).status).toBe(200);
    await server.close();
  });

  test('is served while its address has no tokens left', async () => {
    const { server, send, exhaust, first } = await keyed();
    expect((await exhaust()).at(-1)).toBe(429);
    expect((await send(first)).status).toBe(200);
    await server.close();
  });

  test('that is not known is rejected with 401, and guesses are charged to the address', async () => {
    const { server, send, exhaust, first } = await keyed();
    for (const key of [createNamedKey('maker').key, 'maker', `${first}x`]) {
      const { status, body } = await send(key);
      expect([status, JSON.parse(body)]).toEqual([
        401,
        { errorType: 'Forbidden', description: 'the API key in X-API-Key is not known' },
      ]);
    }
    expect((await send(createNamedKey('x').key, '/live')).status).toBe(200);
    expect((await exhaust('maker')).at(-1)).toBe(429);
    await server.close();
  });

  test('is the client of a request in the log by its name, and has no metric', async () => {
    const { server, send, exchanges, first } = await keyed({ metricsPort: 0 });
    await send(first);
    await send();
    expect(exchanges.map(({ client }) => client)).toEqual(['key maker', '127.0.0.1']);
    const metrics = await (await fetch(`${server.metricsUrl}/metrics`)).text();
    expect(metrics).toContain('intentbook_http_requests_total');
    expect(metrics).not.toContain('maker');
    await server.close();
  });

  test('has its own number of streams', async () => {
    const { entry, key } = createNamedKey('maker');
    const { server, first } = await keyed({ apiKeys: [{ ...entry, streams: 0 }] });
    expect((await fetch(`${server.url}/api/v1/orders/stream`, { headers: { 'x-api-key': key } })).status).toBe(429);
    expect((await fetch(`${server.url}${PATH}`, { headers: { 'x-api-key': first } })).status).toBe(401);
    await server.close();
  });

  test('identifies its client without a limit if the rate limit is off, and the header is ignored without keys', async () => {
    const off = await keyed({ rateLimit: 'off' });
    expect(await off.exhaust(off.first)).toEqual(Array(50).fill(200));
    expect((await off.send('maker')).status).toBe(401);
    await off.server.close();
    const none = await keyed({ apiKeys: [] });
    expect((await none.send('maker')).status).toBe(200);
    await none.server.close();
  });

  const { hash } = createNamedKey('a').entry;
  test.each([
    [[{ name: 'a b', hash }], 'apiKeys[0].name must be 1 to 64 letters, digits'],
    [[{ name: 'a', hash: 'intentbook_x' }], 'apiKeys[0].hash must be the SHA-256 of a key, as 64 hex digits'],
    [
      [{ name: 'a', hash, reads: { perSecond: 0.5 } }],
      'apiKeys[0].reads.perSecond must be an integer from 1 to 1000000',
    ],
    [[{ name: 'a', hash, key: 'x' }], 'key'],
    [
      [
        { name: 'a', hash },
        { name: 'b', hash },
      ],
      'apiKeys[1].hash must differ from that of key 0',
    ],
    [
      [
        { name: 'a', hash },
        { name: 'a', hash: hash.replace(/./g, '0') },
      ],
      'apiKeys[1].name must differ from that of key 0',
    ],
    ['a', 'apiKeys must be a list of API keys'],
  ])('configuration %# is rejected', async (apiKeys, message) => {
    const options = { port: 0, store: memoryStore(), apiKeys } as ServeOptions; // wrong in every case
    const failure = await serve(options).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(ConfigError);
    expect(String(failure)).toContain(message);
  });
});

describe('intentbook keys', () => {
  test('prints a key once, with the line of a configuration that check accepts', async () => {
    const cwd = await scratch();
    const { code, stdout, stderr } = await intentbook(['keys', 'create', 'market-maker'], { cwd }).ended;
    expect([code, stderr]).toEqual([0, '']);
    const [key = '', ...rest] = stdout.split('\n');
    expect(key).toMatch(/^intentbook_[\w-]{43}$/);
    expect(rest.join('\n')).not.toContain(key);
    const line = rest.find((each) => each.includes('"hash"'));
    writeFileSync(join(cwd, 'intentbook.json'), `{ "apiKeys": [\n${line}\n], "books": [{ "chain": "sepolia" }] }`);
    const checked = await intentbook(['check', '--config', 'intentbook.json', '--json'], { cwd }).ended;
    expect(JSON.parse(checked.stdout)).toMatchObject({ ok: true });
  });

  test('prints one JSON object with --json', async () => {
    const { stdout } = await intentbook(['keys', 'create', 'a', '--json']).ended;
    expect(JSON.parse(stdout)).toEqual({
      ok: true,
      key: expect.stringMatching(/^intentbook_/),
      entry: { name: 'a', hash: expect.stringMatching(/^[0-9a-f]{64}$/) },
    });
  });

  test.each([
    [['keys'], 'use "intentbook keys create <name>"'],
    [['keys', 'create'], 'use "intentbook keys create <name>"'],
    [['keys', 'delete', 'a'], 'use "intentbook keys create <name>"'],
    [['keys', 'create', 'a b'], '<name> must be 1 to 64 letters, digits'],
    [['keys', 'create', 'a', 'b'], 'unexpected argument "b"'],
  ])('rejects %j with 2', async (args, message) => {
    const { code, stderr } = await intentbook(args).ended;
    expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
  });
});
