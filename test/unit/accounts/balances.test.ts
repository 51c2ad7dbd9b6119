import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Address, ChainClient, Funds, FundsQuery, OrderBookOptions, TokenInfo } from 'intentbook';
import { createApi, createOrderBook } from 'intentbook';
import type { BalanceEvent } from 'intentbook/accounts';
import { composeApis, createAccountApi, createAccounts } from 'intentbook/accounts';
import { memoryAccountStore, memoryStore } from 'intentbook/memory';
import { nodeHandler } from 'intentbook/node-http';
import { describe, onTestFinished, test } from 'vitest';
import { scriptedChain } from '../../support/chain.ts';
import { manualClock } from '../../support/clock.ts';
import { COW, SEPOLIA, WETH } from '../../support/orders.ts';
import { accountFixture } from './account-api-fixture.ts';

const ALICE = '0x00000000000000000000000000000000000a11ce';
const BOB = '0x0000000000000000000000000000000000000b0b';
const NOTHING = '0x00000000000000000000000000000000000dead0';
const NATIVE = '0xeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee';
const [weth, cow] = [WETH.toLowerCase(), COW.toLowerCase()] as [Address, Address];
const RELAYER = '0xc92e8bdf79f0507f65a392b0ab4667716bfe0110';

const INFO: Readonly<Record<string, TokenInfo>> = {
  [weth]: { decimals: 18, symbol: 'WETH', name: 'Wrapped Ether' },
  [cow]: { decimals: 18 },
};

/** Balances that a test can change, and a chain that reads them. */
function ledger() {
  const funds = new Map<string, Funds>();
  const unknown = new Set<string>();
  const state = { out: undefined as Error | undefined, hold: undefined as Promise<void> | undefined };
  const chain = scriptedChain({
    async balanceAndAllowance({ owner, token }: FundsQuery) {
      await state.hold;
      if (state.out !== undefined) throw state.out;
      if (unknown.has(token)) return undefined;
      return funds.get(`${owner} ${token}`) ?? { balance: 0n, allowance: 0n };
    },
    tokenInfo: (token) => INFO[token],
  });
  return {
    chain,
    unknown,
    state,
    set: (owner: string, token: string, balance: bigint, allowance = 0n) =>
      funds.set(`${owner} ${token}`, { balance, allowance }),
    recordedCalls: (question: string) => chain.recordedCalls.filter((each) => each.question === question).length,
  };
}

async function fixture(book: Partial<OrderBookOptions> = {}) {
  const { chain, ...rest } = ledger();
  return { ...rest, chain, ...(await accountFixture({}, { chain, ...book })) };
}

const balances = (tokens: string, account = ALICE, chain: string | number = SEPOLIA) =>
  `/${chain}/accounts/${account}/balances?tokens=${tokens}`;

/** Waits several event loop ticks. */
const settle = () => new Promise((resolve) => setImmediate(resolve));

describe('GET /{chain_id}/accounts/{account}/balances', () => {
  test('returns balance and allowance of each token once, in request order and lower case', async () => {
    const { send, set, chain } = await fixture();
    set(ALICE, weth, 2n ** 256n - 1n, 7n);
    const answer = await send(
      'GET',
      balances(` ${COW},,${WETH.toLowerCase()} , ${WETH}`, ALICE.toUpperCase().replace('0X', '0x')),
    );
    assert.equal(answer.status, 200);
    assert.deepEqual(answer.json(), [
      { balance: '0', allowance: '0', token: { address: cow, decimals: 18 } },
      {
        balance: (2n ** 256n - 1n).toString(),
        allowance: '7',
        token: { address: weth, decimals: 18, symbol: 'WETH', name: 'Wrapped Ether' },
      },
    ]);
    const query = chain.recordedCalls.find(({ question }) => question === 'balanceAndAllowance')?.query;
    assert.deepEqual(query, { owner: ALICE, token: cow, spender: RELAYER });
  });

  test('omits invalid tokens and treats native currency as a token', async () => {
    const { send, set } = await fixture();
    set(ALICE, NATIVE, 5n);
    assert.deepEqual((await send('GET', balances(`${NOTHING},${NATIVE}`))).json(), [
      { balance: '5', allowance: '0', token: { address: NATIVE, decimals: 18, name: 'Ether', symbol: 'ETH' } },
    ]);
  });

  test('reads token metadata once and balances for each request', async () => {
    const { send, recordedCalls, clock } = await fixture();
    for (let i = 0; i < 3; i++) await send('GET', balances(`${weth},${NOTHING}`));
    assert.deepEqual([recordedCalls('balanceAndAllowance'), recordedCalls('tokenInfo')], [3, 2]);
    // A token may be deployed later.
    clock.advance(600_000);
    await send('GET', balances(`${weth},${NOTHING}`));
    assert.deepEqual([recordedCalls('balanceAndAllowance'), recordedCalls('tokenInfo')], [4, 3]);
    // A clock that is set back neither ends nor prolongs the time.
    clock.advance(300_000);
    clock.jump(-300_000);
    await send('GET', balances(`${weth},${NOTHING}`));
    assert.deepEqual([recordedCalls('balanceAndAllowance'), recordedCalls('tokenInfo')], [5, 3]);
    clock.advance(300_000);
    await send('GET', balances(`${weth},${NOTHING}`));
    assert.deepEqual([recordedCalls('balanceAndAllowance'), recordedCalls('tokenInfo')], [6, 4]);
  });

  test('responds 500 and caches nothing if the chain client returns an incomplete result', async () => {
    let missing = 1;
    const chain: ChainClient = {
      tokensInfo: async (tokens) => tokens.slice(missing).map(() => ({ decimals: 6 })),
      balancesAndAllowances: async (pairs) => pairs.slice(missing).map(() => ({ balance: 5n, allowance: 7n })),
    };
    const { send } = await fixture({ chain });
    const answer = await send('GET', balances(weth));
    assert.deepEqual(
      [answer.status, answer.json()],
      [500, { message: 'the chain query returned an incomplete result' }],
    );
    missing = 0;
    assert.equal((await send('GET', balances(weth))).status, 200);
    missing = 1;
    assert.equal((await send('GET', balances(weth))).status, 500); // the metadata is cached
  });

  test('reads 100 tokens with two queries if the chain client supports lists', async () => {
    const queries: string[] = [];
    const chain: ChainClient = {
      ...scriptedChain({ balanceAndAllowance: new Error('not used'), tokenInfo: new Error('not used') }),
      async tokensInfo(tokens) {
        queries.push(`${tokens.length} tokens`);
        return tokens.map((_, i) => (i % 2 === 0 ? { decimals: i } : undefined));
      },
      async balancesAndAllowances(pairs) {
        queries.push(`${pairs.length} balances`);
        return pairs.map((_, i) => ({ balance: BigInt(i), allowance: 0n }));
      },
    };
    const { send } = await fixture({ chain });
    const tokens = Array.from({ length: 100 }, (_, i) => `0x${(i + 1).toString(16).padStart(40, '0')}`);
    const answer = (await send('GET', balances(tokens.join(',')))).json() as { balance: string; token: object }[];
    assert.equal(answer.length, 50);
    assert.deepEqual(answer[2], { balance: '2', allowance: '0', token: { address: tokens[4], decimals: 4 } });
    await send('GET', balances(tokens.join(',')));
    assert.deepEqual(queries, ['100 tokens', '50 balances', '50 balances']);
  });

  test('omits invalid token metadata', async () => {
    const tokenInfo = { decimals: 1.5, symbol: '', name: 'x'.repeat(1000) };
    const chain = scriptedChain({ balanceAndAllowance: { balance: 1n, allowance: 2n }, tokenInfo });
    const { send } = await accountFixture({}, { chain });
    const [balance] = (await send('GET', balances(weth))).json() as { token: unknown }[];
    assert.deepEqual(balance?.token, { address: weth, name: 'x'.repeat(128) });
  });

  test('reads the metadata of a token again after a day, and after ten minutes without decimals', async () => {
    const clock = manualClock();
    const state: { info: TokenInfo } = { info: { symbol: 'MATIC' } };
    const tokenInfo = () => state.info;
    const chain = scriptedChain({ tokenInfo, balanceAndAllowance: () => ({ balance: 1n, allowance: 0n }) });
    const { send } = await accountFixture({}, { chain, clock });
    const read = async () => ((await send('GET', balances(weth))).json() as { token: TokenInfo }[])[0]?.token;
    await read();
    state.info = { symbol: 'MATIC', decimals: 18 };
    clock.advance(599_999);
    assert.equal((await read())?.decimals, undefined);
    clock.advance(1);
    assert.equal((await read())?.decimals, 18);
    state.info = { symbol: 'POL', decimals: 18 };
    clock.advance(86_399_999);
    assert.equal((await read())?.symbol, 'MATIC');
    clock.advance(1);
    assert.equal((await read())?.symbol, 'POL');
  });

  test('returns only addresses if the chain has no token metadata', async () => {
    const chain = scriptedChain({ balanceAndAllowance: { balance: 1n, allowance: 2n } });
    const { send } = await accountFixture({}, { chain });
    const expected = [{ balance: '1', allowance: '2', token: { address: weth } }];
    assert.deepEqual((await send('GET', balances(weth))).json(), expected);
  });

  test.each([
    [`/${SEPOLIA}/accounts/${ALICE}/balances`, 400, 'At least one token address is required'],
    [balances(' , ,'), 400, 'At least one token address is required'],
    [balances(`${weth},0x12`), 400, 'Invalid Ethereum address: 0x12'],
    [balances(`${'y'.repeat(500)}`), 400, `Invalid Ethereum address: ${'y'.repeat(80)}`],
    [
      balances(Array.from({ length: 101 }, (_, i) => `0x${String(i).padStart(40, '0')}`).join()),
      400,
      'At most 100 token addresses are allowed',
    ],
    [balances(weth, 'alice.eth'), 400, 'account: must be 0x and 40 hex digits, got "alice.eth"'],
    [balances(weth, ALICE, 5), 400, 'Unsupported chain'],
    [balances(weth, ALICE, '5x'), 400, 'chainId: must be a whole number'],
  ])('%s is %s', async (path, status, message) => {
    const { send } = await fixture();
    for (const each of [path, path.replace('/balances', '/balances/sse')]) {
      const answer = await send('GET', each);
      assert.deepEqual([answer.status, answer.json()], [status, { message }]);
      assert.equal(answer.header('cache-control'), 'no-store');
    }
  });

  test('returns a retryable 500 without the node address when the chain fails', async () => {
    const { send, state, failures } = await fixture();
    state.out = new Error('https://key@node is down');
    const answer = await send('GET', balances(weth));
    assert.deepEqual([answer.status, answer.json()], [500, { message: 'the chain query failed' }]);
    assert.equal(answer.header('retry-after'), '1');
    assert.deepEqual(failures, [state.out]);
  });

  test('aborts a chain read at the timeout', async () => {
    const chain = scriptedChain({ balanceAndAllowance: 'silence' });
    const { send, clock } = await accountFixture({}, { chain, checkTimeout: 1000 });
    const sent = send('GET', balances(weth));
    while (chain.recordedCalls.length === 0) await settle();
    clock.advance(1000);
    const { status, json } = await sent;
    assert.deepEqual([status, json()], [500, { message: 'the chain query timed out' }]);
    assert.equal(chain.recordedCalls[0]?.signal.aborted, true);
  });

  test('rejects a book without a chain', async () => {
    const { send } = await accountFixture();
    const answer = await send('GET', balances(weth));
    assert.deepEqual([answer.status, answer.json()], [503, { message: 'Balances are not available on this chain' }]);
  });

  test('reads the balances of a chain client that supports lists only', async () => {
    const chain: ChainClient = {
      balancesAndAllowances: async (pairs) => pairs.map(() => ({ balance: 5n, allowance: 7n })),
    };
    const { send } = await fixture({ chain });
    assert.deepEqual((await send('GET', balances(weth))).json(), [
      { balance: '5', allowance: '7', token: { address: weth } },
    ]);
  });

  test('uses the production book among several books of one chain', async () => {
    const clock = manualClock();
    const [production, staging] = [ledger(), ledger()];
    const books = [
      ['0xf553d092b50bdcbdded1a99af2ca29fbe5e2cb13', staging] as const,
      ['0x9008d19f58aabd9ed0d60971565aa8510560ab41', production] as const,
    ].map(([settlementContract, { chain }]) =>
      createOrderBook({ chainId: SEPOLIA, settlementContract, store: memoryStore(), clock, chain }),
    );
    for (const book of books) {
      await book.start();
      onTestFinished(() => book.close());
    }
    const accounts = createAccounts({ books, store: memoryAccountStore(), clock });
    await accounts.start();
    onTestFinished(() => accounts.close());
    await accounts.balances.get(SEPOLIA, ALICE, [weth]);
    assert.deepEqual(
      [production.recordedCalls('balanceAndAllowance'), staging.recordedCalls('balanceAndAllowance')],
      [1, 0],
    );
  });
});

describe('balance stream', () => {
  /** Reads a stream continuously. */
  function reading(events: AsyncIterable<BalanceEvent>) {
    const seen: BalanceEvent[] = [];
    const iterator = events[Symbol.asyncIterator]();
    const done = (async () => {
      for (let next = await iterator.next(); !next.done; next = await iterator.next()) seen.push(next.value);
    })();
    return { seen, done, leave: () => iterator.return?.() };
  }
  const brief = (events: readonly BalanceEvent[]) =>
    events.map((event) => {
      if (event.type === 'initial_balances') return event.balances.map(({ balance }) => balance).join();
      if (event.type === 'unavailable') return 'unavailable';
      const { update } = event;
      return update.type === 'balance_change'
        ? `${update.oldBalance}>${update.newBalance}`
        : `${update.oldAllowance}>>${update.newAllowance}`;
    });

  test('starts with all balances and continues with changes', async () => {
    const { accounts, set, clock } = await fixture();
    set(ALICE, weth, 5n, 1n);
    const { seen } = reading(accounts.balances.watch(SEPOLIA, ALICE, [WETH, COW]));
    await settle();
    assert.deepEqual(brief(seen), ['5,0']);
    set(ALICE, weth, 7n, 0n);
    clock.advance(4999);
    await settle();
    assert.equal(seen.length, 1);
    clock.advance(1);
    await settle();
    const about = { chainId: SEPOLIA, userAddress: ALICE, tokenAddress: weth, timestamp: clock.now() };
    assert.deepEqual(seen.slice(1), [
      { type: 'balance_update', update: { type: 'balance_change', ...about, oldBalance: '5', newBalance: '7' } },
      { type: 'balance_update', update: { type: 'allowance_change', ...about, oldAllowance: '1', newAllowance: '0' } },
    ]);
    clock.advance(5000);
    await settle();
    assert.equal(seen.length, 3);
  });

  test('keeps the last balance while the token does not return one', async () => {
    const { accounts, set, clock, unknown, send } = await fixture();
    set(ALICE, weth, 5n);
    const { seen } = reading(accounts.balances.watch(SEPOLIA, ALICE, [weth, cow]));
    await settle();
    unknown.add(weth);
    clock.advance(5000);
    await settle();
    assert.deepEqual(brief(seen), ['5,0']);
    const answer = (await send('GET', balances(`${weth},${cow}`))).json() as { token: { address: string } }[];
    assert.deepEqual(
      answer.map(({ token }) => token.address),
      [cow],
    );
    unknown.delete(weth);
    set(ALICE, weth, 6n);
    clock.advance(5000);
    await settle();
    assert.deepEqual(brief(seen), ['5,0', '5>6']);
  });

  test('reads an account once for several subscribers with different tokens', async () => {
    const { accounts, set, clock, recordedCalls } = await fixture();
    const streams = Array.from({ length: 20 }, (_, n) =>
      reading(accounts.balances.watch(SEPOLIA, ALICE, [n % 2 ? weth : cow])),
    );
    await settle();
    await settle();
    assert.ok(streams.every(({ seen }) => seen.length === 1));
    const before = recordedCalls('balanceAndAllowance');
    set(ALICE, weth, 1n);
    clock.advance(5000);
    await settle();
    assert.equal(recordedCalls('balanceAndAllowance') - before, 2);
    assert.deepEqual(
      streams.map(({ seen }) => seen.length),
      Array.from({ length: 20 }, (_, n) => (n % 2 ? 2 : 1)),
    );
    for (const { leave } of streams.slice(1)) await leave();
    clock.advance(5000);
    await settle();
    assert.equal(recordedCalls('balanceAndAllowance') - before, 3); // no subscriber needs the other token
  });

  test('keeps the balances of a subscriber while the tokens of another one fail', async () => {
    const chain = scriptedChain({
      balanceAndAllowance: ({ token }: FundsQuery) =>
        token === cow ? Promise.reject(new Error('down')) : { balance: 5n, allowance: 0n },
    });
    const { accounts, clock } = await accountFixture({}, { chain });
    const streams = [[weth], [cow], [weth, cow]].map((tokens) =>
      reading(accounts.balances.watch(SEPOLIA, ALICE, tokens)),
    );
    await settle();
    clock.advance(5000);
    await settle();
    assert.deepEqual(
      streams.map(({ seen }) => brief(seen)),
      [['5'], ['unavailable'], ['unavailable']],
    );
  });

  test('does not take a change from earlier subscribers when another one joins', async () => {
    const { accounts, set, clock } = await fixture();
    const first = reading(accounts.balances.watch(SEPOLIA, ALICE, [weth]));
    await settle();
    set(ALICE, weth, 3n);
    clock.advance(1000);
    const second = reading(accounts.balances.watch(SEPOLIA, ALICE, [weth]));
    await settle();
    assert.deepEqual([brief(first.seen), brief(second.seen)], [['0', '0>3'], ['3']]);
  });

  test('lets a subscriber that joins during a read wait for the next one without a delay', async () => {
    const { accounts, set, state } = await fixture();
    let proceed = () => {};
    state.hold = new Promise((resolve) => (proceed = resolve));
    const first = reading(accounts.balances.watch(SEPOLIA, ALICE, [weth]));
    await settle();
    const second = reading(accounts.balances.watch(SEPOLIA, ALICE, [cow]));
    set(ALICE, cow, 9n);
    proceed();
    await settle();
    await settle();
    assert.deepEqual([brief(first.seen), brief(second.seen)], [['0'], ['9']]);
  });

  test('sends a slow reader the difference to its last state within bounded memory', async () => {
    const { accounts, set, clock } = await fixture();
    const iterator = accounts.balances.watch(SEPOLIA, ALICE, [weth])[Symbol.asyncIterator]();
    await iterator.next();
    for (let n = 1n; n <= 1000n; n++) {
      set(ALICE, weth, n);
      clock.advance(5000);
      await settle();
    }
    const { value } = await iterator.next();
    assert.deepEqual(brief([value]), ['0>1000']);
    let more = false;
    void iterator.next().then(({ done }) => (more = !done));
    await settle();
    assert.equal(more, false);
    await iterator.return?.();
  });

  test('reports a failing chain once and later the changes in the meantime', async () => {
    const { accounts, set, clock, state, failures } = await fixture();
    state.out = new Error('down');
    const { seen } = reading(accounts.balances.watch(SEPOLIA, ALICE, [weth]));
    await settle();
    clock.advance(5000);
    await settle();
    assert.deepEqual(brief(seen), ['unavailable']);
    state.out = undefined;
    clock.advance(5000);
    await settle();
    assert.deepEqual(brief(seen), ['unavailable', '0']);
    state.out = new Error('down again');
    clock.advance(5000);
    await settle();
    set(ALICE, weth, 4n);
    state.out = undefined;
    clock.advance(5000);
    await settle();
    assert.deepEqual(brief(seen), ['unavailable', '0', 'unavailable', '0>4']);
    assert.equal(failures.length, 3);
  });

  test('stops reading when the last subscriber leaves', async () => {
    const { accounts, clock, recordedCalls, state, chain } = await fixture();
    const left = new AbortController();
    const one = reading(accounts.balances.watch(SEPOLIA, ALICE, [weth], { signal: left.signal }));
    state.hold = new Promise(() => {}); // the first call never returns
    const two = reading(accounts.balances.watch(SEPOLIA, BOB, [weth]));
    left.abort();
    await one.done;
    await settle();
    await two.leave();
    await two.done;
    assert.ok(chain.recordedCalls.filter(({ query }) => query.owner === BOB).every(({ signal }) => signal.aborted));
    const before = recordedCalls('balanceAndAllowance');
    clock.advance(60_000);
    await settle();
    assert.equal(recordedCalls('balanceAndAllowance'), before);
    const gone = reading(accounts.balances.watch(SEPOLIA, ALICE, [weth], { signal: AbortSignal.abort() }));
    await gone.done;
    assert.deepEqual(gone.seen, []);
  });

  test('ends when the API closes', async () => {
    const { accounts } = await fixture();
    const { done } = reading(accounts.balances.watch(SEPOLIA, ALICE, [weth]));
    await settle();
    await accounts.close();
    await assert.doesNotReject(done);
  });
});

describe('GET /{chain_id}/accounts/{account}/balances/sse', () => {
  test('ends without a read of the chain if the API has closed before the iteration begins', async () => {
    const { accounts, recordedCalls } = await fixture();
    const events = accounts.balances.watch(SEPOLIA, ALICE, [cow]);
    await accounts.close();
    const reading = events[Symbol.asyncIterator]().next();
    assert.deepEqual(await Promise.race([reading, settle()]), { done: true, value: undefined });
    assert.equal(recordedCalls('balanceAndAllowance'), 0);
  });

  test('sends initial_balances, balance_update and ping over a socket, and ends when the client leaves', async () => {
    const { book, accounts, set, clock, recordedCalls } = await fixture();
    const server = createServer(nodeHandler(composeApis(createAccountApi(accounts), createApi(book))));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    });
    const { port } = server.address() as AddressInfo; // a listening server has an address
    const client = new AbortController();
    const path = balances(`${WETH},${COW}`).replace('/balances', '/balances/sse');
    set(ALICE, weth, 5n);
    const response = await fetch(`http://127.0.0.1:${port}${path}`, { signal: client.signal });
    assert.equal(response.status, 200);
    assert.equal(response.headers.get('content-type'), 'text/event-stream');
    assert.equal(response.headers.get('x-accel-buffering'), 'no');
    assert.equal(response.headers.get('access-control-allow-origin'), '*');
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    const read = async () => (await reader?.read())?.value ?? '';

    const first = await read();
    const [, data = ''] = /^event: initial_balances\ndata: (.*)\n\n$/.exec(first) ?? [];
    assert.deepEqual(JSON.parse(data), {
      balances: [
        { balance: '5', allowance: '0', token: { address: weth, ...INFO[weth] } },
        { balance: '0', allowance: '0', token: { address: cow, ...INFO[cow] } },
      ],
    });

    set(ALICE, weth, 6n);
    await settle();
    clock.advance(5000);
    const [, update = ''] = /^event: balance_update\ndata: (.*)\n\n$/.exec(await read()) ?? [];
    assert.deepEqual(JSON.parse(update), {
      type: 'balance_change',
      chainId: SEPOLIA,
      userAddress: ALICE,
      tokenAddress: weth,
      timestamp: clock.now(),
      oldBalance: '5',
      newBalance: '6',
    });

    for (let i = 0; i < 3; i++) {
      await settle();
      clock.advance(5000);
    }
    assert.equal(await read(), 'event: ping\ndata: {}\n\n');
    client.abort();
    // The server detects it asynchronously.
    for (let before = -1; before !== recordedCalls('balanceAndAllowance'); ) {
      before = recordedCalls('balanceAndAllowance');
      for (let i = 0; i < 5; i++) await new Promise((resolve) => setTimeout(resolve, 5));
      clock.advance(5000);
      await settle();
    }
  });

  test('opens no lasting stream for HEAD', async () => {
    const { send, recordedCalls, clock } = await fixture();
    const answer = await send('HEAD', balances(weth).replace('/balances', '/balances/sse'));
    assert.equal(answer.status, 200);
    await settle();
    const before = recordedCalls('balanceAndAllowance');
    clock.advance(60_000);
    await settle();
    assert.equal(recordedCalls('balanceAndAllowance'), before);
  });
});
