import { createOrderBook, createVerifier } from 'intentbook';
import { createAccounts } from 'intentbook/accounts';
import { decodeLog } from 'intentbook/chain-events';
import { memoryAccountStore, memoryStore } from 'intentbook/memory';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

const ACCOUNT = '0x00000000000000000000000000000000000000aa';
const HASH = `0x${'ab'.repeat(32)}`;

/** Arguments of JavaScript programs, which no compiler checks. */
const WRONG: unknown[][] = [
  [null],
  [undefined],
  [5],
  ['x'],
  [[]],
  [[null]],
  [ACCOUNT, null],
  [ACCOUNT, 5],
  [ACCOUNT, {}, null],
  [ACCOUNT, ACCOUNT, null],
  [HASH, null],
  [{}, null],
  [{ owner: null }],
];

/** Messages of the runtime. A reader cannot find the wrong argument by them. */
const RAW = /Cannot (read|destructure|convert|mix|set)|is not (a function|iterable|defined)/;

/** Methods that end or control the object itself. */
const LIFECYCLE = new Set(['close', 'start', 'on', 'off']);

const book = createOrderBook({ chainId: 11_155_111, store: memoryStore() });
const accounts = createAccounts({ books: [book], store: memoryAccountStore() });

/** Returns all methods of an object and of its parts by their path. */
function listMethods(part: object, path: string): [path: string, call: (...given: unknown[]) => unknown][] {
  return Object.entries(part).flatMap(([name, member]) => {
    if (LIFECYCLE.has(name)) return [];
    if (typeof member === 'function') return [[`${path}.${name}`, (...given) => member.apply(part, given)] as const];
    if (typeof member !== 'object' || member === null || Array.isArray(member)) return [];
    return listMethods(member, `${path}.${name}`);
  }) as [string, (...given: unknown[]) => unknown][];
}

/** Returns the message with which a call fails. Of a stream the first entry is read. */
async function findMessage(call: (...given: unknown[]) => unknown, given: readonly unknown[]): Promise<string> {
  const pause = () => new Promise((resolve) => setTimeout(resolve, 20));
  try {
    const result = await Promise.race([call(...given), pause()]);
    const entries = (result as AsyncIterable<unknown> | undefined)?.[Symbol.asyncIterator]?.();
    await Promise.race([entries?.next(), pause()]);
    void entries?.return?.();
    return '';
  } catch (error) {
    return (error as Error).message;
  }
}

describe('wrong arguments', () => {
  beforeAll(async () => {
    await book.start();
    await accounts.start();
  });
  afterAll(async () => {
    await accounts.close();
    await book.close();
  });

  const methods = [...listMethods(book, 'book'), ...listMethods(accounts, 'accounts')];

  test.each([...methods, ['createVerifier', createVerifier] as const, ['decodeLog', decodeLog] as const])(
    '%s has no error of the runtime',
    async (_, call) => {
      const messages = await Promise.all(WRONG.map((given) => findMessage(call as never, given)));
      expect(messages.filter((message) => RAW.test(message))).toEqual([]);
    },
  );

  test('covers the methods of nested objects', () => {
    const names = methods.map(([name]) => name);
    expect(names).toEqual(
      expect.arrayContaining([
        'book.orders.rendered.list',
        'book.auctions.rendered.stream',
        'accounts.history.allOrders',
      ]),
    );
  });
});
