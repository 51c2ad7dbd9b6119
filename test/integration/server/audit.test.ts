import { join } from 'node:path';
import { createOrderBook, systemClock } from 'intentbook';
import { memoryStore } from 'intentbook/memory';
import type { OperatorAction } from 'intentbook/server';
import { serve } from 'intentbook/server';
import { sqliteAccountStore, sqliteStore } from 'intentbook/sqlite';
import { afterAll, describe, expect, test } from 'vitest';
import { formatAction, formatTarget } from '../../../apps/cli/logging/audit.ts';
import { createNamedKey } from '../../../apps/server/commands/create-key.ts';
import { addressOf, cleanUp, intentbook, scratch } from './process.ts';

afterAll(cleanUp);

const operatorToken = 'a-token-of-sixteen';
const authorized = { authorization: `Bearer ${operatorToken}` };

describe('audit log of a server', () => {
  test('has an entry for each request to operator routes, and none for others', async () => {
    const actions: OperatorAction[] = [];
    const { key, entry } = createNamedKey('maker');
    const server = await serve({
      port: 0,
      accounts: ':memory:',
      books: [{ chain: 'sepolia', store: memoryStore() }],
      operatorToken,
      apiKeys: [entry],
      onOperatorAction: (action) => void actions.push(action),
    });
    const send = async (path: string, method = 'GET', headers: Record<string, string> = {}) =>
      (await fetch(server.url + path, { method, headers: { 'x-request-id': 'r1', ...headers } })).status;
    expect(await send('/restricted/deliveries', 'GET', authorized)).toBe(200);
    expect(await send('/restricted/deliveries/replay?seq=3', 'POST', authorized)).toBe(200);
    expect(await send('/restricted/deliveries/replay?seqs=3', 'POST', authorized)).toBe(400);
    expect(await send('/sepolia/restricted/api/v1/competition?secret=1', 'POST')).toBe(403);
    expect(await send('/restricted/deliveries', 'GET', { authorization: 'Bearer wrong', 'x-api-key': key })).toBe(403);
    expect(await send('/restricted/nothing', 'GET')).toBe(404);
    expect(await send('/restricted/deliveries', 'OPTIONS')).toBe(204);
    expect(await send('/sepolia/api/v1/version')).toBe(200);
    await server.close();
    const client = '127.0.0.1';
    const operator = { who: 'operator token', client, requestId: 'r1' };
    expect(actions).toEqual([
      {
        ...operator,
        action: 'GET /restricted/deliveries',
        target: '/restricted/deliveries',
        result: 'ok',
        status: 200,
      },
      {
        ...operator,
        action: 'POST /restricted/deliveries/replay',
        target: '/restricted/deliveries/replay?seq=3',
        result: 'ok',
        status: 200,
      },
      expect.objectContaining({ who: 'operator token', result: 'refused', status: 400 }),
      {
        action: 'POST /sepolia/restricted/api/v1/competition',
        who: client,
        target: '/sepolia/restricted/api/v1/competition',
        result: 'refused',
        status: 403,
        code: 'Forbidden',
        client,
        requestId: 'r1',
      },
      expect.objectContaining({ who: 'key maker', client: 'key maker', result: 'refused', status: 403 }),
      expect.objectContaining({ action: 'GET other', result: 'refused', status: 404 }),
    ]);
  });

  test('has no entry for requests above the limit', async () => {
    const actions: OperatorAction[] = [];
    const rateLimit = { reads: 1, writes: 1, streams: 1 };
    const onOperatorAction = (action: OperatorAction) => void actions.push(action);
    const server = await serve({ port: 0, accounts: ':memory:', store: memoryStore(), rateLimit, onOperatorAction });
    const statuses: number[] = [];
    for (let i = 0; i < 50 && statuses.at(-1) !== 429; i++) {
      statuses.push((await fetch(`${server.url}/restricted/deliveries`)).status);
    }
    await server.close();
    expect(statuses.at(-1)).toBe(429);
    expect(actions.map(({ status }) => status)).toEqual(statuses.slice(0, -1));
  });

  test.each([
    ['json', /\{[^\n]*"action":"GET \/restricted\/deliveries","who":"127\.0\.0\.1"[^\n]*"msg":"audit"\}\n/],
    ['text', /audit: \{"time":"[^"]+","action":"GET \/restricted\/deliveries","who":"127\.0\.0\.1"[^\n]*\}\n/],
  ])('is part of the log in the format %s', async (log, line) => {
    const server = intentbook(['serve', '--port', '0', '--db', ':memory:', '--accounts', ':memory:', '--log', log]);
    const [, url = ''] = log === 'json' ? await server.printed(/"url":"(http:[^"]+)"/) : ['', await addressOf(server)];
    expect((await fetch(`${url}/restricted/deliveries`)).status).toBe(403);
    await server.printed(line);
    server.child.kill('SIGTERM');
    expect(await server.ended).toMatchObject({ code: 0 });
  });
});

describe('audit line of a command', () => {
  const user = expect.stringMatching(/^user ./);

  test('is written to the error output if the log format is given', async () => {
    const db = join(await scratch(), 'book.sqlite');
    const book = createOrderBook({ chainId: 11155111, store: sqliteStore({ path: db }) });
    await book.start();
    await book.close();
    const pruned = await intentbook(['prune', '--db', db, '--log', 'json', '--json']).ended;
    expect(JSON.parse(pruned.stderr)).toMatchObject({
      msg: 'audit',
      time: expect.any(String),
      action: 'prune',
      who: user,
      target: `book: ${db}`,
      result: 'ok',
    });
    expect(JSON.parse(pruned.stdout)).toMatchObject({ ok: true });
    const env = { ...process.env, INTENTBOOK_LOG: 'text' };
    const created = await intentbook(['keys', 'create', 'maker'], { env }).ended;
    expect(created.stderr).toMatch(
      /^audit: \{"time":"[^"]+","action":"keys create","who":"user [^"]+","target":"maker"/,
    );
    expect(created.stderr).not.toContain(created.stdout.split('\n')[0]);
  });

  test('of forget names the account and its store', async () => {
    const folder = await scratch();
    const [account, accounts] = [`0x${'fe'.repeat(20)}`, join(folder, 'accounts.sqlite')];
    const store = sqliteAccountStore({ path: accounts });
    await store.open({ clock: systemClock });
    await store.close();
    const forget = ['forget', '--account', account, '--accounts', accounts, '--log', 'json'];
    const { code, stderr } = await intentbook(forget).ended;
    const target = expect.stringContaining(`accounts: ${accounts}; account: ${account}`);
    expect([code, JSON.parse(stderr)]).toEqual([
      0,
      expect.objectContaining({ action: 'forget', target, result: 'ok' }),
    ]);
  });

  test('names the code of a failure, and is not written without a log format', async () => {
    const db = join(await scratch(), 'missing.sqlite');
    const failed = await intentbook(['prune', '--db', db, '--log', 'json']).ended;
    const [line = '', message] = failed.stderr.split('\n');
    expect(JSON.parse(line)).toMatchObject({ action: 'prune', who: user, result: 'failed', code: 'Error' });
    expect(message).toContain('does not exist');
    expect((await intentbook(['prune', '--db', db]).ended).stderr).not.toContain('audit');
  });

  test('has no secret of a connection string and no control character', () => {
    const secret = 'postgres://app:secret@db:5432/books';
    const target = formatTarget({ postgres: secret, schema: 'main', accounts: secret, file: '-', db: 'x.sqlite' });
    expect(target).toBe(
      'book: PostgreSQL at db:5432/books, schema main; accounts: PostgreSQL at db:5432/books; file: -',
    );
    const action = { action: 'x', who: 'y', target: '\u001b[2J\u009b', result: 'ok' } as const;
    expect(formatAction(action, new Date(0))).toBe(
      'audit: {"time":"1970-01-01T00:00:00.000Z","action":"x","who":"y","target":"\\u001b[2J?","result":"ok"}',
    );
  });
});
