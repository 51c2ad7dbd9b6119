import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import Database from 'better-sqlite3';
import { createOrderBook, systemClock } from 'intentbook';
import { sqliteAccountStore, sqliteStore } from 'intentbook/sqlite';
import { afterEach, describe, expect, test } from 'vitest';
import { notification, notify, step } from '../../conformance/accounts/notifications.ts';
import { account, SEPOLIA, signCancellation, signOrder } from '../../support/orders.ts';
import { temporarySchema } from '../../support/postgres.ts';
import { addressOf, cleanUp, intentbook, scratch } from './process.ts';

afterEach(cleanUp);

const validTo = Math.floor(Date.now() / 1000) + 3600;

/** Creates a book in a file: orders of each scheme, some with documents, some cancelled. */
async function bookWith(count: number): Promise<{ db: string; folder: string; uids: string[] }> {
  const folder = await scratch();
  const db = join(folder, 'book.sqlite');
  const book = createOrderBook({ chainId: SEPOLIA, store: sqliteStore({ path: db }) });
  await book.start();
  const orders = await Promise.all(
    Array.from({ length: count }, async (_, i) => {
      const appData = i % 2 === 0 ? '{}' : JSON.stringify({ appCode: `the ${i}th, “quoted”\n` });
      const order = await signOrder(account(i), { validTo, sellAmount: String(i + 1), appData });
      return i % 5 === 4 ? { ...order, signingScheme: 'presign' as const, signature: '0x' } : order;
    }),
  );
  const results = await book.orders.submitMany(orders);
  const uids = results.map((result) => (result.status === 'accepted' ? result.uid : String(result.error)));
  const orderUids = [uids[0] ?? ''];
  const cancelled = await book.orders.cancel({ orderUids, ...(await signCancellation(account(0), { orderUids })) });
  expect(cancelled.status).toBe('cancelled');
  await book.close();
  return { db, folder, uids };
}

/** Runs a command that must succeed and returns its JSON output. */
async function done(args: readonly string[], code = 0): Promise<Record<string, unknown>> {
  const ended = await intentbook([...args, '--json']).ended;
  expect([ended.code, ended.stderr]).toEqual([code, '']);
  return JSON.parse(ended.stdout) as Record<string, unknown>;
}

async function rejected(args: readonly string[], code = 1): Promise<string> {
  const ended = await intentbook(args).ended;
  expect([ended.code, ended.stdout]).toEqual([code, '']);
  expect(ended.stderr).toMatch(/^intentbook: [^\n]+\n$/);
  return ended.stderr;
}

/** Returns the content of a book without dates of cancellation. */
async function shown(store: ReturnType<typeof sqliteStore>) {
  const book = createOrderBook({ chainId: SEPOLIA, store });
  await book.start();
  const { orders } = await book.orders.list({ limit: 1000 });
  await book.close();
  return orders;
}

describe('export beside a running server', () => {
  test('reads the file of the server, which continues to write', async () => {
    const { db, folder } = await bookWith(30);
    const accounts = join(folder, 'accounts.sqlite');
    const server = intentbook(['serve', '--port', '0', '--db', db, '--accounts', accounts]);
    const url = await addressOf(server);
    const exported = await done(['export', join(folder, 'book.ndjson'), '--db', db]);
    expect(exported).toMatchObject({ ok: true, orders: 30 });
    for (const table of ['orders', 'trades', 'notifications']) {
      const args = ['--table', table, '--db', db, ...(table === 'notifications' ? ['--accounts', accounts] : [])];
      expect(await done(['export', join(folder, `${table}.csv`), ...args])).toMatchObject({ ok: true, table });
    }
    expect(await done(['verify', '--db', db])).toMatchObject({ orders: 30, problems: [] });
    const order = await signOrder(account(50), { validTo });
    const headers = { 'content-type': 'application/json' };
    const posted = await fetch(`${url}/api/v1/orders`, { method: 'POST', headers, body: JSON.stringify(order) });
    expect(posted.status).toBe(201);
    // Commands that write still need the writer lease.
    expect(await rejected(['prune', '--db', db])).toContain('already has a writer');
  });

  test('writes to the standard output, and the result to the error output', async () => {
    const { db, folder } = await bookWith(20);
    const file = join(folder, 'book.ndjson');
    await done(['export', file, '--db', db]);
    const piped = await intentbook(['export', '-', '--db', db], { cwd: folder }).ended;
    expect([piped.code, piped.stdout]).toEqual([0, readFileSync(file, 'utf8')]);
    expect(piped.stderr).toMatch(/^20 orders are in the standard output, 0 of them from before, digest/);
    const table = await intentbook(['export', '-', '--table', 'orders', '--json', '--db', db], { cwd: folder }).ended;
    expect([table.code, table.stdout.split('\n').length, JSON.parse(table.stderr)]).toEqual([
      0,
      22,
      expect.objectContaining({ ok: true, file: '-', rows: 20 }),
    ]);
    expect(readdirSync(folder)).not.toContain('-');
  });

  test.skipIf(!existsSync('/dev/full'))('names the reason if the standard output cannot be written', async () => {
    const { db } = await bookWith(20);
    const end = (output: string) => {
      const shell = `"$0" dist/cli.js export - --db "$1" ${output}`;
      return spawnSync('bash', ['-o', 'pipefail', '-c', shell, process.execPath, db], { encoding: 'utf8' }).stderr;
    };
    expect(end('> /dev/full')).toMatch(/^intentbook: the standard output cannot be written: ENOSPC: [^\n]+\n$/);
    expect(end('| true')).toBe('intentbook: the reader of the output has ended\n');
  });

  test.each([
    ['import', '-'],
    ['backup', '-'],
    ['init', '-'],
  ])('%s %s is refused', async (...args) => {
    const { code, stderr } = await intentbook(args).ended;
    expect([code, stderr]).toEqual([2, expect.stringContaining('cannot use the standard input or output')]);
  });
});

test('a service with several addresses has more than a second for each', () => {
  const print = "import net from 'node:net'; console.log(net.getDefaultAutoSelectFamilyAttemptTimeout())";
  const program = `import('./dist/cli.js').then(() => import(${JSON.stringify(`data:text/javascript,${print}`)}))`;
  const { stdout } = spawnSync(process.execPath, ['-e', program], { encoding: 'utf8' });
  expect(stdout).toMatch(/^1500$/m);
});

describe('backup of a configuration', () => {
  test('copies the files of all books and of the accounts beside their server', async () => {
    const folder = await scratch();
    const config = join(folder, 'intentbook.json');
    const books = [{ chain: 'sepolia' }, { chain: 'base' }, { chain: 1, path: '/m', db: ':memory:' }];
    writeFileSync(config, JSON.stringify({ port: 0, books }));
    const server = intentbook(['serve', '--config', config]);
    await addressOf(server);
    const to = join(folder, 'copies');
    const { copies } = await done(['backup', to, '--config', config]);
    // The account store reads the logs of the books, so its copy must not be newer than theirs.
    const names = ['sepolia-accounts.sqlite', 'sepolia.sqlite', 'base.sqlite'];
    expect(copies).toMatchObject(names.map((name) => ({ from: join(folder, name), to: join(to, name) })));
    expect(await done(['verify', '--chain', 'base', '--db', join(to, 'base.sqlite')])).toMatchObject({ orders: 0 });
    expect(await rejected(['backup', to, '--config', config])).toContain('already exists');
    expect(await rejected(['backup', to, '--config', config, '--db', 'x.sqlite'], 2)).toContain('cannot be combined');
  });

  test('has its secrets in variables', async () => {
    const folder = await scratch();
    const config = join(folder, 'intentbook.json');
    const books = [{ chain: 'sepolia', db: join(folder, 'b.sqlite') }];
    writeFileSync(config, JSON.stringify({ books, mailFrom: 'book@example.org', publicUrl: 'https://example.org' }));
    const args = ['check', '--config', config];
    const env = { INTENTBOOK_SMTP: 'smtps://user:secret@mail.example.org' };
    expect((await intentbook(args, { env }).ended).stderr).not.toContain('"smtp" is missing');
    const { code, stderr } = await intentbook(args).ended;
    expect([code, stderr]).toEqual([2, expect.stringContaining(`${config} is invalid`)]);
    expect(stderr).toContain('"smtp" is missing');
  });

  test('copies the account store of the variable or the flag, like the server', async () => {
    const folder = await scratch();
    const config = join(folder, 'intentbook.json');
    writeFileSync(config, JSON.stringify({ port: 0, books: [{ chain: 'sepolia' }] }));
    const accounts = join(folder, 'other.sqlite');
    const env = { INTENTBOOK_ACCOUNTS: accounts };
    await addressOf(intentbook(['serve', '--config', config], { env }));
    const copy = (name: string, ...flags: string[]) =>
      done(['backup', join(folder, name), '--config', config, ...flags]);
    const sources = ({ copies }: { copies?: readonly { from: string }[] }) => copies?.map(({ from }) => basename(from));
    expect(sources(await copy('a', '--accounts', accounts))).toEqual(['other.sqlite', 'sepolia.sqlite']);
    expect(sources(await copy('b', '--accounts', 'off'))).toEqual(['sepolia.sqlite']);
    const { code, stdout } = await intentbook(['backup', join(folder, 'c'), '--config', config], { env }).ended;
    expect([code, stdout]).toEqual([0, expect.stringContaining('other.sqlite')]);
    const file = ['backup', join(folder, 'd'), '--db', accounts, '--accounts', accounts];
    expect(await rejected(file, 2)).toContain('--accounts requires --config');
  });
});

describe('new files', () => {
  test('cannot be read by other users of the machine', async () => {
    const folder = await scratch();
    const [db, accounts] = [join(folder, 'book.sqlite'), join(folder, 'accounts.sqlite')];
    const server = intentbook(['serve', '--port', '0', '--db', db, '--accounts', accounts]);
    await addressOf(server);
    const files = ['book.ndjson', 'orders.csv', 'orders.parquet'].map((name) => join(folder, name));
    for (const file of files) await done(['export', file, '--db', db]);
    const config = join(folder, 'intentbook.json');
    await done(['init', config]);
    for (const file of [db, `${db}-wal`, accounts, `${accounts}-wal`, `${accounts}-shm`, ...files, config]) {
      expect([file, (statSync(file).mode & 0o777).toString(8)]).toEqual([file, '600']);
    }
  });
});

describe('export and import', () => {
  test('move a book from SQLite to PostgreSQL and back; a repeated import changes nothing', async () => {
    const { db, folder } = await bookWith(300);
    const place = await temporarySchema();
    const postgres = ['--postgres', place.url, '--schema', place.schema];
    const [there, back] = [join(folder, 'there.ndjson'), join(folder, 'back.ndjson')];
    const exported = await done(['export', there, '--db', db]);
    expect(exported).toMatchObject({ ok: true, orders: 300, resumed: 0, left: 0 });
    await intentbook(['migrate', ...postgres]).ended;
    const imported = await done(['import', there, ...postgres]);
    expect(imported).toMatchObject({ orders: 300, inserted: 300, cancelled: 1, sha256: exported['sha256'] });
    expect(await done(['import', there, ...postgres])).toMatchObject({ orders: 300, inserted: 0, cancelled: 0 });
    expect(await done(['export', back, ...postgres])).toMatchObject({ sha256: exported['sha256'] });
    const copy = join(folder, 'copy.sqlite');
    await done(['import', back, '--db', copy]);
    expect(await shown(sqliteStore({ path: copy }))).toEqual(await shown(sqliteStore({ path: db })));
    expect(await done(['verify', '--db', copy])).toMatchObject({
      orders: 300,
      signatures: 240,
      onChain: 60,
      problems: [],
    });
    await place[Symbol.asyncDispose]();
  });

  test('resume after an interruption at any point', async () => {
    const { db, folder } = await bookWith(40);
    const whole = join(folder, 'whole.ndjson');
    const { sha256 } = await done(['export', whole, '--db', db]);
    const bytes = readFileSync(whole);
    for (const size of [0, 20, Math.floor(bytes.length / 2), bytes.length - 30]) {
      const part = join(folder, `part-${size}.ndjson`);
      writeFileSync(part, bytes.subarray(0, size));
      expect(await done(['export', part, '--db', db])).toMatchObject({ orders: 40, sha256 });
      expect(readFileSync(part).equals(bytes)).toBe(true);
    }
    expect(await rejected(['export', whole, '--db', db])).toContain('is already complete');
  });

  test('reject a truncated file, a changed file and a file of another book', async () => {
    const { db, folder } = await bookWith(10);
    const file = join(folder, 'book.ndjson');
    const target = join(folder, 'target.sqlite');
    await done(['export', file, '--db', db]);
    const text = readFileSync(file, 'utf8');
    const attempt = (changed: string | Buffer) => {
      writeFileSync(file, changed);
      return rejected(['import', file, '--db', target]);
    };
    expect(await attempt(text.replace('the 3th', 'the 4th'))).toContain('its digest differs');
    expect(await attempt(`${text.split('\n').slice(0, -2).join('\n')}\n`)).toContain('is incomplete');
    expect(await attempt(text.split('\n').toSpliced(3, 1).join('\n'))).toContain('must have 10 orders, got 9');
    expect(await attempt('{"a":1}\n')).toContain('is not an export');
    expect(await attempt('x\n')).toContain('is not an export: a line is not JSON');
    expect(await attempt(gzipSync(text))).toContain(`is compressed; run "gunzip ${file}" first`);
    const blank = join(folder, 'the book.ndjson.gz');
    writeFileSync(blank, gzipSync(text));
    expect(await rejected(['import', blank, '--db', target])).toContain(`run "gunzip '${blank}'" first`);
    expect(await rejected(['import', folder, '--db', target])).toContain(`"${folder}" is not a file`);
    writeFileSync(file, text);
    expect(await rejected(['import', file, '--db', join(folder, 'base.sqlite'), '--chain', 'base'])).toContain(
      'belongs to chain 11155111',
    );
    expect(await shown(sqliteStore({ path: target }))).toEqual([]);
  });
});

describe('database that does not exist', () => {
  test.each([
    ['verify', []],
    ['export', ['orders.ndjson']],
    ['prune', []],
    ['backup', ['copy.sqlite']],
    ['begin-epoch', []],
  ])('is not created by %s', async (command, files) => {
    const folder = await scratch();
    const args = [command, ...files.map((file) => join(folder, file)), '--db', join(folder, 'typo.sqlite')];
    expect(await rejected(args)).toContain(`the database "${join(folder, 'typo.sqlite')}" does not exist`);
    expect(readdirSync(folder)).toEqual([]);
  });

  test.each(['verify', 'export', 'prune', 'backup', 'begin-epoch', 'forget'])(
    'is not made of an empty file by %s',
    async (command) => {
      const folder = await scratch();
      const file = join(folder, 'empty.sqlite');
      writeFileSync(file, '');
      const names: Record<string, string[]> = { export: ['orders.ndjson'], backup: ['copy.sqlite'] };
      const target = command === 'forget' ? ['--account', account(1).address, '--accounts', file] : ['--db', file];
      const args = [command, ...(names[command] ?? []).map((name) => join(folder, name)), ...target];
      expect(await rejected(args)).toContain(`the file "${file}" is empty, not a database`);
      expect(readdirSync(folder)).toEqual(['empty.sqlite']);
      expect(readFileSync(file)).toHaveLength(0);
    },
  );

  test.each(['verify', 'import', 'forget'])(
    'is not reported by %s for a file that cannot be reached',
    async (command) => {
      const file = join(await scratch(), 'loop');
      symlinkSync(file, file);
      const args = {
        verify: ['--db', file],
        import: [file],
        forget: ['--account', account(1).address, '--accounts', file],
      }[command];
      expect(await rejected([command, ...(args ?? [])])).toContain('ELOOP');
    },
  );

  test('is not created by an import of a missing file', async () => {
    const folder = await scratch();
    const args = ['import', join(folder, 'missing.ndjson'), '--db', join(folder, 'new.sqlite')];
    expect(await rejected(args)).toContain('missing.ndjson" does not exist');
    expect(readdirSync(folder)).toEqual([]);
  });
});

describe('verify', () => {
  test.each([
    [
      'a signature',
      (body: string) =>
        body.replace(/("signature":"0x..)(..)/, (_, head, byte) => head + (byte === 'ff' ? '00' : 'ff')),
      /the signer is|is damaged/,
    ],
    [
      'a field',
      (body: string) => body.replace('"sellAmount":"2"', '"sellAmount":"3"'),
      /the UID does not match|is damaged/,
    ],
    ['a body', () => '{}', /is damaged/],
  ])('finds %s that was changed', async (_, tamper, reason) => {
    const { db, uids } = await bookWith(6);
    const file = new Database(db);
    const uid = Buffer.from((uids[1] ?? '').slice(2), 'hex');
    const { body } = file.prepare('SELECT body FROM orders WHERE uid = ?').get(uid) as { body: string };
    file.prepare('UPDATE orders SET body = ? WHERE uid = ?').run(tamper(body), uid);
    file.close();
    const received = await done(['verify', '--db', db], 1);
    expect(received).toMatchObject({ ok: false, orders: 6, onChain: 1, problems: [{ uid: uids[1] }] });
    expect(JSON.stringify(received['problems'])).toMatch(reason);
  });
});

describe('prune', () => {
  test('removes orders past their retention and prints text by default', async () => {
    const { db } = await bookWith(6);
    const file = new Database(db);
    const day = 24 * 60 * 60;
    const old = Math.floor(Date.now() / 1000) - 40 * day;
    file.prepare('UPDATE orders SET created = ?, valid_to = ? WHERE id <= 4').run(old * 1000, old + 60);
    file.close();
    expect(await done(['prune', '--older-than', '50', '--db', db])).toMatchObject({ orders: 0 });
    const { code, stdout } = await intentbook(['prune', '--older-than', '30', '--db', db]).ended;
    expect([code, stdout]).toEqual([
      0,
      expect.stringMatching(/^4 orders and 0 quotes were removed, all over before 2/),
    ]);
    expect(await shown(sqliteStore({ path: db }))).toHaveLength(2);
  });

  test('removes entries of the log, chain events and documents with their flags only', async () => {
    const { db } = await bookWith(6);
    const file = new Database(db);
    const old = Math.floor(Date.now() / 1000) - 40 * 24 * 60 * 60;
    const ended = Buffer.from((old + 60).toString(16).padStart(8, '0'), 'hex');
    file.prepare('UPDATE orders SET created = ?, valid_to = ?').run(old * 1000, old + 60);
    file.prepare('UPDATE documents SET used_until = ?').run(old);
    file.prepare('UPDATE events SET at = ?').run(old * 1000);
    // A trade of an order that is not stored, in a block that is final.
    file
      .prepare(
        'INSERT INTO chain_events (block, log, block_hash, transaction_hash, timestamp, type, uid, owner, detail) ' +
          "VALUES (1, 1, ?, ?, ?, 0, ?, ?, '{}')",
      )
      .run(
        Buffer.alloc(32),
        Buffer.alloc(32),
        old,
        Buffer.concat([Buffer.alloc(32), Buffer.alloc(20), ended]),
        Buffer.alloc(20),
      );
    file.prepare('INSERT INTO progress (id, number, hash) VALUES (1, 9, ?)').run(Buffer.alloc(32));
    const count = (table: string) => (file.prepare(`SELECT count(*) AS n FROM ${table}`).get() as { n: number }).n;
    const [events, chainEvents, documents] = ['events', 'chain_events', 'documents'].map(count);
    const first = await done(['prune', '--older-than', '30', '--db', db]);
    expect(first).toEqual(expect.objectContaining({ orders: 6 }));
    expect(Object.keys(first)).not.toEqual(expect.arrayContaining(['events']));
    expect(['chain_events', 'documents'].map(count)).toEqual([chainEvents, documents]);
    const recorded = count('events');
    expect(recorded).toBeGreaterThan(Number(events)); // expiries were recorded first
    const flags = ['--retention-events', '30', '--retention-chain-events', '30', '--retention-documents', '30'];
    const pruned = await done(['prune', '--older-than', '30', ...flags, '--db', db]);
    expect(pruned).toMatchObject({ orders: 0, events: recorded - 1, chainEvents, documents });
    expect(['events', 'chain_events', 'documents'].map(count)).toEqual([1, 0, 0]); // the newest entry stays
    file.close();
  });

  test('removes notifications and nonces of an account store', async () => {
    const { db, folder } = await bookWith(1);
    const accounts = join(folder, 'accounts.sqlite');
    const store = sqliteAccountStore({ path: accounts });
    await store.open({ clock: systemClock });
    await store.close();
    const file = new Database(accounts);
    const insert = file.prepare('INSERT INTO nonces (account, nonce, expires_at) VALUES (?, ?, ?)');
    for (const [n, expires] of [1, Date.now() + 3_600_000].entries()) insert.run(Buffer.alloc(20, n), `${n}`, expires);
    const flags = ['--retention-notifications', '30', '--accounts', accounts];
    expect(await done(['prune', ...flags, '--db', db])).toMatchObject({ nonces: 1, notifications: 0 });
    expect((file.prepare('SELECT count(*) AS n FROM nonces').get() as { n: number }).n).toBe(1);
    file.close();
  });

  test.each([
    [['--retention-chain-events', '20'], '--retention-chain-events must be at least --older-than (90), got 20'],
    [
      ['--retention-documents', '1', '--older-than', '2'],
      '--retention-documents must be at least --older-than (2), got 1',
    ],
    [['--retention-notifications', '1'], '--retention-notifications requires --accounts <location>'],
  ])('rejects %s', async (flags, message) => {
    expect(await rejected(['prune', ...flags], 2)).toContain(message);
  });
});

describe('backup', () => {
  test('copies a file in use by a server, which other servers cannot open from the copy', async () => {
    const { db, folder, uids } = await bookWith(20);
    const server = intentbook(['serve', '--port', '0', '--db', db]);
    await addressOf(server);
    expect(await rejected(['prune', '--db', db])).toContain(`process ${server.child.pid} `);
    const copy = join(folder, 'copy.sqlite');
    expect(await done(['backup', copy, '--db', db])).toMatchObject({ ok: true, to: copy });
    expect(await done(['verify', '--db', copy])).toMatchObject({ orders: uids.length, problems: [] });
    expect(await rejected(['backup', copy, '--db', db])).toContain('already exists');
    expect(await rejected(['backup', join(folder, 'x'), '--db', join(folder, 'missing')])).toContain('does not exist');
  });
});

describe('forget', () => {
  const ALICE = notification(1).account;

  test('deletes the personal data of an account in a file that no server has open', async () => {
    const folder = await scratch();
    const db = join(folder, 'book.sqlite');
    const store = sqliteAccountStore({ path: join(folder, 'book-accounts.sqlite') });
    await store.open({ clock: systemClock });
    await step(store, notify(notification(1), notification(2)));
    await store.close();
    const server = intentbook(['serve', '--port', '0', '--db', db]);
    await addressOf(server);
    const forget = ['forget', '--account', ALICE.toUpperCase().replace('0X', '0x'), '--db', db];
    expect(await rejected(forget)).toContain(`process ${server.child.pid} `);
    server.child.kill();
    await server.ended;
    const account = { account: ALICE, subscriptions: 0, affiliate: 'none' };
    expect(await done(forget)).toEqual({ ok: true, ...account, notifications: 2 });
    expect(await done(forget)).toEqual({ ok: true, ...account, notifications: 0 });
    const exported = await done(['export', join(folder, 'n.csv'), '--table', 'notifications', '--db', db]);
    expect(exported).toMatchObject({ rows: 2 });
    expect(readFileSync(join(folder, 'n.csv'), 'utf8')).not.toContain(ALICE.slice(2));
  });

  test('runs beside a server on the same PostgreSQL database', async () => {
    const { url } = await temporarySchema();
    const db = join(await scratch(), 'book.sqlite');
    await done(['migrate', '--accounts', url]);
    const server = intentbook(['serve', '--port', '0', '--db', db, '--accounts', url]);
    await addressOf(server);
    const other = `0x${'fe'.repeat(20)}`;
    expect(await done(['forget', '--account', other, '--accounts', url])).toMatchObject({ ok: true, notifications: 0 });
  });

  test.each([
    [[], 2, 'an account is missing: intentbook forget --account <address>'],
    [['--account', '0x12'], 2, '--account must be'],
    [['--account', ALICE, '--accounts', 'off'], 1, 'forget requires an account store: --accounts <location>'],
    [['--account', ALICE, '--accounts', '/missing/file'], 1, 'does not exist'],
  ])('rejects %s', async (flags, code, message) => {
    expect(await rejected(['forget', ...flags], code)).toContain(message);
  });
});

describe('begin-epoch', () => {
  const run = async (path: string, n: number) => {
    const store = sqliteAccountStore({ path });
    await store.open({ clock: systemClock });
    await step(store, notify(notification(n)));
    const last = await store.notifications.last();
    await store.close();
    return last;
  };

  test('makes the next entry of each log begin a new log epoch', async () => {
    const { db, folder } = await bookWith(1);
    const accounts = join(folder, 'accounts.sqlite');
    expect(await run(accounts, 1)).toBe(1);
    const server = intentbook(['serve', '--port', '0', '--db', db]);
    await addressOf(server);
    expect(await rejected(['begin-epoch', '--db', db])).toContain(`process ${server.child.pid} `);
    server.child.kill();
    await server.ended;
    expect(await done(['begin-epoch', '--db', db, '--accounts', accounts])).toEqual({ ok: true, logs: [db, accounts] });
    expect(await run(accounts, 2)).toBeGreaterThan(2);
  });
});

describe('command-line help', () => {
  test.each([
    [['export'], 'a file is missing: intentbook export <file>'],
    [['verify', 'x'], 'unexpected argument "x"'],
    [['prune', '--port', '1'], '--port is not a flag of "intentbook prune"'],
    [['serve', '--older-than', '1'], '--older-than is not a flag of "intentbook serve"'],
    [['prune', '--older-than', '0'], '--older-than must be a number of days from 1 to 36500, got "0"'],
    [['verfy'], 'unknown command "verfy", did you mean "verify"?'],
  ])('rejects %j with 2', async (args, message) => {
    expect(await rejected(args, 2)).toContain(message);
  });

  test.each(['export', 'import', 'verify', 'prune', 'backup', 'begin-epoch'])('%s prints its usage', async (name) => {
    const { code, stdout } = await intentbook([name, '--help']).ended;
    expect(code).toBe(0);
    expect(stdout).toMatch(new RegExp(`^intentbook ${name}[ :]`));
    expect(stdout).toContain('Examples\n');
  });
});
