import { createOrderBook } from 'intentbook';
import { createAccounts } from 'intentbook/accounts';
import { createClient } from 'intentbook/client';
import { memoryAccountStore, memoryStore } from 'intentbook/memory';
import { expect, onTestFinished, test } from 'vitest';

/** Errors of the language, which name parts of the code in place of the argument. */
const RAW =
  /^Cannot |is not (a function|iterable|a constructor)|\(reading '|argument must be of type|is not valid JSON/;

const ADDRESS = '0x0000000000000000000000000000000000000001';

/** What callers without types pass. */
const SINGLE = [undefined, null, 5, 'x', ADDRESS, true, {}, [], [null], [{}], [ADDRESS], () => 1, new Map()];
const SEVERAL = [
  [null, null],
  [{}, {}],
  ['x', {}],
  ['x', null],
  [ADDRESS, 5],
  [ADDRESS, {}],
];
const ARGUMENTS = [...SINGLE.map((each) => [each]), ...SEVERAL];

/** Entry points whose functions take what users write. The others take records that this package has created. */
const ENTRIES = {
  intentbook: () => import('intentbook'),
  accounts: () => import('intentbook/accounts'),
  channels: () => import('intentbook/channels'),
  diagnostics: () => import('intentbook/diagnostics'),
  drivers: () => import('intentbook/drivers'),
  estimators: () => import('intentbook/estimators'),
  explorer: () => import('intentbook/explorer'),
  express: () => import('intentbook/express'),
  fastify: () => import('intentbook/fastify'),
  fetch: () => import('intentbook/fetch'),
  ipfs: () => import('intentbook/ipfs'),
  memory: () => import('intentbook/memory'),
  nats: () => import('intentbook/nats'),
  native: () => import('intentbook/native'),
  openapi: () => import('intentbook/openapi'),
  otel: () => import('intentbook/otel'),
  postgres: () => import('intentbook/postgres'),
  prices: () => import('intentbook/prices'),
  prometheus: () => import('intentbook/prometheus'),
  server: () => import('intentbook/server'),
  sign: () => import('intentbook/sign'),
  simulators: () => import('intentbook/simulators'),
  sqlite: () => import('intentbook/sqlite'),
  upstream: () => import('intentbook/upstream'),
  viem: () => import('intentbook/viem'),
};

/** Functions that take records or amounts, and one that starts a server without arguments. */
const EXCLUDED = ['createVerifier', 'amountIn', 'amountOut', 'listRouteCodes', 'serve'];

/** Calls a function with each list of arguments. Returns the raw errors. */
async function callWrongly(name: string, call: (...given: readonly unknown[]) => unknown): Promise<string[]> {
  const raw = await Promise.all(
    ARGUMENTS.map(async (given) => {
      try {
        const result = call(...given);
        const isStream = Object(result) === result && Symbol.asyncIterator in Object(result);
        const ended = isStream ? (result as AsyncIterable<unknown>)[Symbol.asyncIterator]().next() : result;
        await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, 100))]);
        return [];
      } catch (error) {
        const message = error instanceof Error ? error.message : String(error);
        return RAW.test(message) ? [`${name}(${JSON.stringify(given)}): ${message}`] : [];
      }
    }),
  );
  return raw.flat();
}

/** Calls all methods of an object and of its parts wrongly, except for those that end it. */
async function callMethods(name: string, target: object): Promise<string[]> {
  const raw: string[] = [];
  for (const [key, member] of Object.entries(target)) {
    const isEnding = key === 'close' || key === 'stop' || key === 'clock';
    if (typeof member === 'function' && !isEnding) {
      raw.push(...(await callWrongly(`${name}.${key}`, (...given) => Reflect.apply(member, target, given))));
    } else if (Object(member) === member && !isEnding && Object.getPrototypeOf(member) === Object.prototype) {
      raw.push(...(await callMethods(`${name}.${key}`, member)));
    }
  }
  return raw;
}

test.each(Object.entries(ENTRIES))('functions of %s name the argument that is wrong', async (entry, load) => {
  const raw: string[] = [];
  for (const [name, member] of Object.entries(await load())) {
    const isClass = typeof member === 'function' && /^class\b/.test(String(member));
    if (typeof member !== 'function' || isClass || EXCLUDED.includes(name)) continue;
    raw.push(...(await callWrongly(`${entry}: ${name}`, (...given) => Reflect.apply(member, undefined, given))));
  }
  expect(raw).toEqual([]);
});

test('methods of a book, of accounts and of a client name the argument that is wrong', async () => {
  const book = createOrderBook({ chainId: 1, store: memoryStore() });
  const accounts = createAccounts({ books: [book], store: memoryAccountStore() });
  onTestFinished(async () => {
    await accounts.close();
    await book.close();
  });
  await book.start();
  await accounts.start();
  const fetch = async () => Response.json({});
  const client = createClient('http://127.0.0.1:1', { fetch });
  const parts = { book, accounts, client, account: client.account(ADDRESS) };
  expect(await callMethods('', parts)).toEqual([]);
});
