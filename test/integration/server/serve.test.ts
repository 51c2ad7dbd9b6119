import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { join } from 'node:path';
import { memoryStore } from 'intentbook/memory';
import { serve } from 'intentbook/server';
import { afterEach, describe, expect, test } from 'vitest';
import { defaultLocation } from '../../../apps/server/books/open-accounts.ts';
import { planServer } from '../../../apps/server/config/plan.ts';
import { account, signOrder } from '../../support/orders.ts';
import { addressOf, CLI, cleanUp, intentbook, run, type Spawned, scratch } from './process.ts';

afterEach(cleanUp);

const SETTLEMENT = '0x9008d19f58aabd9ed0d60971565aa8510560ab41';
const signed = (seed: number) => signOrder(account(seed), { validTo: Math.floor(Date.now() / 1000) + 3600 });

function post(url: string, body: unknown): Promise<Response> {
  const headers = { 'content-type': 'application/json' };
  return fetch(`${url}/api/v1/orders`, { method: 'POST', headers, body: JSON.stringify(body) });
}

describe('server startup', () => {
  test('prints address, file and chain', async () => {
    const cwd = await scratch();
    const server = intentbook(['serve', '--port', '0', '--chain', 'mainnet', '--db', 'orders.sqlite'], { cwd });
    const url = await addressOf(server);
    await server.printed(new RegExp(`database +${join(cwd, 'orders.sqlite')}\n`));
    await server.printed(new RegExp(`chain +mainnet \\(1\\), settlement contract ${SETTLEMENT}\n`));
    expect(await (await fetch(`${url}/api/v1/version`)).text()).toContain('chain 1 ');
    expect((await fetch(`${url}/ready`)).status).toBe(200);
    expect((await fetch(`${url}/live`)).status).toBe(200);
  });

  test('reads the environment, with flags first', async () => {
    const env = { INTENTBOOK_PORT: '0', INTENTBOOK_CHAIN: 'base', INTENTBOOK_DB: ':memory:', INTENTBOOK_HOST: '::1' };
    const server = intentbook(['serve', '--host', '127.0.0.1'], { env, cwd: await scratch() });
    expect(await addressOf(server)).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    await server.printed(/chain +base \(8453\).*\n +database +in memory; all orders are lost at exit/);
  });

  test('applies the quotas of owners', async () => {
    const args = ['serve', '--port', '0', '--db', ':memory:', '--max-open-orders', '1', '--max-pending-presign', '1'];
    const url = await addressOf(intentbook(args));
    const validTo = Math.floor(Date.now() / 1000) + 3600;
    const order = async (sellAmount: string) => signOrder(account(1), { validTo, sellAmount });
    const presign = async (amount: string) => ({ ...(await order(amount)), signingScheme: 'presign', signature: '0x' });
    expect((await post(url, await order('1'))).status).toBe(201);
    const rejection = { errorType: 'TooManyLimitOrders', data: { limit: 1, count: 1 } };
    expect(await (await post(url, await order('2'))).json()).toMatchObject(rejection);
    expect((await post(url, await presign('3'))).status).toBe(201);
    expect(await (await post(url, await presign('4'))).json()).toMatchObject(rejection);
  });

  test('applies the quota of a single owner in place of the general one', async () => {
    const ownerLimits = { [account(1).address]: { maxOpenOrders: 2 }, [account(2).address]: { maxOpenOrders: null } };
    const server = await serve({ port: 0, db: ':memory:', maxOpenOrders: 1, ownerLimits });
    const validTo = Math.floor(Date.now() / 1000) + 3600;
    const submit = async (seed: number) => {
      const orders = ['1', '2', '3'].map((sellAmount) => signOrder(account(seed), { validTo, sellAmount }));
      const results = await server.book.orders.submitMany(await Promise.all(orders));
      return results.filter(({ status }) => status === 'accepted').length;
    };
    expect([await submit(1), await submit(2), await submit(3)]).toEqual([2, 3, 1]);
    await server.close();
  });

  test('restores its orders after a restart', async () => {
    const db = join(await scratch(), 'orders.sqlite');
    const first = intentbook(['serve', '--port', '0', '--db', db]);
    const uid = await (await post(await addressOf(first), await signed(1))).json();
    first.child.kill('SIGTERM');
    await first.ended;
    const url = await addressOf(intentbook(['serve', '--port', '0', '--db', db]));
    expect(await (await fetch(`${url}/api/v1/orders/${uid}`)).json()).toMatchObject({ uid, status: 'open' });
  });
});

describe('startup error in one line', () => {
  async function rejection(args: readonly string[], code: number): Promise<string> {
    const ended = await intentbook(args, { cwd: await scratch() }).ended;
    expect(ended).toMatchObject({ code, stdout: '' });
    expect(ended.stderr).toMatch(/^intentbook: [^\n]+\n$/);
    return ended.stderr;
  }

  test('names a misspelled flag', async () => {
    expect(await rejection(['serve', '--prot', '80'], 2)).toContain('did you mean "--port"?');
  });

  test('names an invalid port', async () => {
    expect(await rejection(['serve', '--port', '70000'], 2)).toContain('from 0 to 65535');
  });

  test('names an unknown chain', async () => {
    expect(await rejection(['serve', '--chain', 'goerli'], 2)).toContain(
      'one of mainnet (or ethereum), xdai (or gnosis), ',
    );
  });

  test('names a port in use', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const port = String((taken.address() as AddressInfo).port); // a listening server has an address
    const text = await rejection(['serve', '--port', port], 1);
    taken.close();
    expect(text).toContain(`port ${port} of 127.0.0.1 is in use`);
  });

  test('names a host that is not local', async () => {
    expect(await rejection(['serve', '--port', '0', '--host', '192.0.2.1'], 1)).toContain(
      'not an address of this machine',
    );
  });

  test('names a metrics host that does not exist', async () => {
    const text = await rejection(
      ['serve', '--port', '0', '--metrics-port', '0', '--metrics-host', 'metrics.invalid'],
      1,
    );
    expect(text).toContain('"metrics.invalid" is not an address of this machine');
  });

  test('names a missing directory', async () => {
    const db = join(await scratch(), 'missing', 'orders.sqlite');
    expect(await rejection(['serve', '--port', '0', '--db', db], 1)).toContain(db);
  });

  test('names a file that is a directory', async () => {
    const db = await scratch();
    expect(await rejection(['serve', '--port', '0', '--db', db], 1)).toContain(db);
  });

  test('names a file of another application', async () => {
    const db = join(await scratch(), 'letter.txt');
    await writeFile(db, 'Dear reader, this is a letter and no database. '.repeat(100));
    expect(await rejection(['serve', '--port', '0', '--db', db], 1)).toContain('not an SQLite database');
  });

  test('names a file with another writer', async () => {
    const db = join(await scratch(), 'orders.sqlite');
    const first = intentbook(['serve', '--port', '0', '--db', db]);
    await addressOf(first);
    const text = await rejection(['serve', '--port', '0', '--db', db, '--lease-wait', '0'], 1);
    expect(text).toContain(`the file "${db}" already has a writer: process ${first.child.pid} `);
  });

  test('names a file of another chain', async () => {
    const db = join(await scratch(), 'orders.sqlite');
    const first = intentbook(['serve', '--port', '0', '--db', db]);
    await addressOf(first);
    first.child.kill('SIGTERM');
    await first.ended;
    const text = await rejection(['serve', '--port', '0', '--chain', 'mainnet', '--db', db], 1);
    expect(text).toContain('belongs to chain 11155111');
    expect(text).toContain('chain 1,');
  });
});

describe('server stop', () => {
  /** Opens a connection and sends an order without its last byte, so that the request stays open. */
  async function halfSent(url: string) {
    const body = Buffer.from(JSON.stringify(await signed(1)));
    const socket = connect(Number(new URL(url).port), '127.0.0.1');
    const connection = { socket, received: '', finish: () => void socket.write(body.subarray(-1)) };
    socket.setEncoding('utf8').on('data', (text: string) => {
      connection.received += text;
    });
    // The server requests the body after the request has started.
    const head = ['POST /api/v1/orders HTTP/1.1', 'host: x', 'content-type: application/json', 'expect: 100-continue'];
    socket.write(`${[...head, `content-length: ${body.length}`].join('\r\n')}\r\n\r\n`);
    await once(socket, 'data');
    socket.write(body.subarray(0, -1));
    return connection;
  }

  const stopping = (server: Spawned) => server.printed(/finishing running requests/);

  test('has no effect on SIGHUP without a terminal, as below nohup', async () => {
    const server = intentbook(['serve', '--port', '0', '--db', ':memory:']);
    const url = await addressOf(server);
    server.child.kill('SIGHUP');
    // The signal would have been handled before the next request.
    for (let i = 0; i < 3; i++) expect((await fetch(`${url}/live`)).status).toBe(200);
    server.child.kill('SIGTERM');
    expect(await server.ended).toMatchObject({ code: 0, stdout: expect.stringMatching(/SIGTERM: finishing/) });
  });

  test.each(['SIGINT', 'SIGTERM'] as const)('by %s closes idle connections and exits with 0', async (signal) => {
    const server = intentbook(['serve', '--port', '0', '--db', join(await scratch(), 'orders.sqlite')]);
    const url = await addressOf(server);
    await (await fetch(`${url}/api/v1/version`)).text();
    server.child.kill(signal);
    expect(await server.ended).toMatchObject({ code: 0, signal: null, stderr: '' });
  });

  test('during the start exits with 0, as a container requires', async () => {
    const db = join(await scratch(), 'orders.sqlite');
    await addressOf(intentbook(['serve', '--port', '0', '--db', db]));
    const waiting = intentbook(['serve', '--port', '0', '--db', db, '--lease-wait', '300']);
    await waiting.printed(/already has a writer/);
    waiting.child.kill('SIGTERM');
    expect(await waiting.ended).toMatchObject({ code: 0, signal: null, stderr: '' });
  });

  test('while the program loads ends it, as the first process of a container', async () => {
    // The signal is sent when the first handler was added: before that, such a process ignores it.
    const signals = `const { pid } = process;
      Object.defineProperty(process, 'pid', { value: 1 });
      process.once('newListener', () => process.nextTick(() => process.kill(pid, 'SIGTERM')));`;
    const flags = ['--import', `data:text/javascript,${encodeURIComponent(signals)}`];
    const server = run(process.execPath, [...flags, CLI, 'serve', '--port', '0', '--db', ':memory:']);
    expect(await server.ended).toEqual({ code: 143, signal: null, stdout: '', stderr: '' });
  });

  test('completes a running request, accepts no new ones and keeps acknowledged orders', async () => {
    const db = join(await scratch(), 'orders.sqlite');
    const server = intentbook(['serve', '--port', '0', '--db', db]);
    const url = await addressOf(server);
    const request = await halfSent(url);
    server.child.kill('SIGTERM');
    await stopping(server);
    await expect(fetch(`${url}/api/v1/version`)).rejects.toThrow();
    request.finish();
    await once(request.socket, 'end');
    expect(request.received).toMatch(/HTTP\/1\.1 201 Created\r\n.*connection: close/is);
    expect(await server.ended).toMatchObject({ code: 0, stderr: '' });

    const uid = /"(0x[0-9a-f]{112})"/.exec(request.received)?.[1];
    const again = await addressOf(intentbook(['serve', '--port', '0', '--db', db]));
    expect((await fetch(`${again}/api/v1/orders/${uid}`)).status).toBe(200);
  });

  test('exits at once with 1 on a second signal', async () => {
    const server = intentbook(['serve', '--port', '0', '--db', ':memory:']);
    const { socket } = await halfSent(await addressOf(server));
    socket.on('error', () => {});
    server.child.kill('SIGTERM');
    await stopping(server);
    const impatience = setInterval(() => server.child.kill('SIGINT'), 50);
    const ended = await server.ended;
    clearInterval(impatience);
    expect(ended).toMatchObject({ code: 1, signal: null });
    expect(ended.stderr).toBe('intentbook: ended before all requests were finished\n');
  });

  test('succeeds when its output has no reader', async () => {
    const server = intentbook(['serve', '--port', '0', '--db', ':memory:']);
    await addressOf(server);
    server.child.stdout?.destroy();
    server.child.stderr?.destroy();
    server.child.kill('SIGTERM');
    expect((await once(server.child, 'exit'))[0]).toBe(0);
  });
});

describe('writer lease', () => {
  test('of another process is awaited before the server gives up', async () => {
    const db = join(await scratch(), 'orders.sqlite');
    const first = intentbook(['serve', '--port', '0', '--db', db]);
    await addressOf(first);
    const second = intentbook(['serve', '--port', '0', '--db', db, '--lease-wait', '300']);
    await second.printed(/already has a writer: process \d+ .*Waiting up to 300 s/);
    first.child.kill('SIGTERM');
    expect((await fetch(`${await addressOf(second)}/ready`)).status).toBe(200);
  });

  test('of this process is reported at once, with a remedy', async () => {
    const db = join(await scratch(), 'orders.sqlite');
    const server = await serve({ port: 0, db, accounts: 'off' });
    const second = serve({ port: 0, db, accounts: 'off', leaseWait: 300 });
    await expect(second).rejects.toThrow(`the file "${db}" is already open as a book of this process. Close that book`);
    await server.close();
  });
});

describe('account store', () => {
  test.each([
    ['orders.sqlite', 'orders-accounts.sqlite'],
    ['orders.db', 'orders.db.accounts.sqlite'],
    ['orders', 'orders.accounts.sqlite'],
  ])('of %s is %s', (db, accounts) => {
    expect(defaultLocation(planServer({ books: [{ db }] }, '/srv'))).toBe(`/srv/${accounts}`);
  });
});

describe('server within a program', () => {
  test('installs no signal handlers and closes what it opened', async () => {
    const listeners = () => ['SIGINT', 'SIGTERM', 'uncaughtException'].map((name) => process.listenerCount(name));
    const before = listeners();
    const server = await serve({ port: 0, store: memoryStore() });
    expect(listeners()).toEqual(before);
    expect(server.deployments).toMatchObject([{ chain: 'sepolia', path: '/', database: undefined }]);
    expect((await post(server.url, await signed(1))).status).toBe(201);
    await Promise.all([server.close(), server.close()]);
    await expect(fetch(server.url)).rejects.toThrow();
    expect(await server.book.ready()).toMatchObject({ ready: false });
  });

  test('closes its store when it cannot listen', async () => {
    const taken = await serve({ port: 0, db: ':memory:' });
    const store = memoryStore();
    const port = Number(new URL(taken.url).port);
    await expect(serve({ port, store })).rejects.toMatchObject({ code: 'EADDRINUSE' });
    await expect(store.check()).rejects.toMatchObject({ code: 'Closed' });
    await taken.close();
  });

  test('closes all books and then reports the failure of one', async () => {
    const [broken, slow] = [memoryStore(), memoryStore()];
    const closed: string[] = [];
    const close = async () => {
      await new Promise((resolve) => setTimeout(resolve, 50));
      await slow.close();
      closed.push('slow');
    };
    const server = await serve({
      port: 0,
      books: [
        { chain: 'sepolia', store: { ...broken, close: () => Promise.reject(new Error('the disk is full')) } },
        { chain: 'mainnet', store: { ...slow, close } },
      ],
    });
    await expect(server.close()).rejects.toThrow('the disk is full');
    expect(closed).toEqual(['slow']);
  });

  test('rejects unknown options', async () => {
    await expect(serve({ prot: 1 } as object)).rejects.toThrow('did you mean "port"?');
    await expect(serve({ chain: 'goerli' })).rejects.toThrow('one of mainnet (or ethereum), ');
  });
});

describe('server quotes', () => {
  const TOKENS = ['0x00000000000000000000000000000000000000f1', '0x00000000000000000000000000000000000000f2'];
  const quote = (url: string) =>
    fetch(`${url}/api/v1/quote`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        sellToken: TOKENS[0],
        buyToken: TOKENS[1],
        from: account(1).address,
        kind: 'sell',
        sellAmountBeforeFee: String(10n ** 18n),
      }),
    });
  const buyAmount = async (url: string) =>
    ((await (await quote(url)).json()) as { quote: { buyAmount: string } }).quote.buyAmount;

  test('use a price file and a gas price', async () => {
    const cwd = await scratch();
    const [sold = '', bought = ''] = TOKENS;
    await writeFile(
      join(cwd, 'prices.json'),
      JSON.stringify({ [sold]: '1', [bought]: { price: '0.5', decimals: 18 } }),
    );
    const args = ['serve', '--port', '0', '--db', ':memory:', '--chain', 'base', '--prices', 'prices.json'];
    const url = await addressOf(intentbook([...args, '--gas-price', '0'], { cwd }));
    expect(await buyAmount(url)).toBe(String(2n * 10n ** 18n));
  });

  test('use an HTTP solver that is better than the price table', async () => {
    const engine = createServer((_, response) =>
      response.end(JSON.stringify({ amount: '5000000000000000000', gas: 1 })),
    );
    await once(engine.listen(0, '127.0.0.1'), 'listening');
    const solver = `http://127.0.0.1:${(engine.address() as AddressInfo).port}`; // a listening server has an address
    const cwd = await scratch();
    await writeFile(join(cwd, 'prices.json'), JSON.stringify(Object.fromEntries(TOKENS.map((token) => [token, '1']))));
    const args = ['serve', '--port', '0', '--db', ':memory:', '--gas-price', '0', '--prices', 'prices.json'];
    const url = await addressOf(intentbook([...args, '--solvers', solver], { cwd }));
    expect(await buyAmount(url)).toBe(String(5n * 10n ** 18n));
    engine.close();
  });

  test('report no liquidity without prices', async () => {
    const url = await addressOf(intentbook(['serve', '--port', '0', '--db', ':memory:', '--prices', 'off']));
    const answer = await quote(url);
    expect([answer.status, await answer.json()]).toMatchObject([400, { errorType: 'NoLiquidity' }]);
  });

  test.each([
    ['nothing', undefined, 'cannot be read'],
    ['text', 'Dear reader', 'is not JSON'],
    ['a list', '[]', 'must be an object of prices by token'],
    ['an invalid price', JSON.stringify({ [`${TOKENS[0]}`]: '-1' }), 'price'],
    ['an invalid token', JSON.stringify({ COW: '1' }), 'COW'],
  ])('reject a price file with %s in it in one line', async (_, content, message) => {
    const cwd = await scratch();
    if (content !== undefined) await writeFile(join(cwd, 'prices.json'), content);
    const ended = await intentbook(['serve', '--port', '0', '--prices', 'prices.json'], { cwd }).ended;
    expect(ended.code).not.toBe(0);
    expect(ended.stderr).toMatch(/^intentbook: [^\n]+\n$/);
    expect(ended.stderr).toContain(message);
  });
});
