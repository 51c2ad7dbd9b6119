import { setImmediate } from 'node:timers/promises';
import type { AccountStore, Channel, ChannelHost, OrderBook } from 'intentbook';
import { createOrderBook, StoreError } from 'intentbook';
import type { AccountsOptions, SubscriptionRequest } from 'intentbook/accounts';
import { createAccounts } from 'intentbook/accounts';
import { memoryAccountStore, memoryStore } from 'intentbook/memory';
import { describe, expect, onTestFinished, test } from 'vitest';
import { manualClock } from '../../support/clock.ts';
import { SEPOLIA } from '../../support/orders.ts';
import { ALICES } from './accounts-fixture.ts';

const books: readonly OrderBook[] = [];
const DEFAULTS = { books, store: memoryAccountStore() };

/** A channel that records its calls. */
function recordedChannel(name: string) {
  const calls: string[] = [];
  let host: ChannelHost | undefined;
  const channel: Channel = {
    name,
    signs: false,
    confirmation: 'none',
    parseTarget: (target) => target,
    deliver: async () => ({ status: 'delivered' }),
    start(started) {
      host = started;
      calls.push('start');
    },
    async stop() {
      calls.push('stop');
    },
  };
  return {
    channel,
    calls,
    get host() {
      return host;
    },
  };
}

async function started(options: Partial<AccountsOptions> = {}) {
  const store = options.store ?? memoryAccountStore();
  const failures: unknown[] = [];
  const clock = manualClock();
  const onFailure = (failure: unknown) => void failures.push(failure);
  const accounts = createAccounts({ books, clock, onFailure, ...options, store });
  await accounts.start();
  onTestFinished(() => accounts.close());
  return { accounts, store, failures, clock };
}

describe('options of the account interface', () => {
  const channel = recordedChannel('a').channel;

  test.each<[object, string]>([
    [
      { store: undefined },
      'createAccounts: store must be an account store such as memoryAccountStore(), got undefined',
    ],
    [
      { store: memoryStore() },
      'createAccounts: store must be an account store such as memoryAccountStore(), got an object',
    ],
    [{ channels: {} }, 'createAccounts: channels must be a list of channels such as webhookChannel()'],
    [{ channels: ['telegram'] }, 'createAccounts: channels must be a list of channels such as webhookChannel()'],
    [{ notifications: 'yes' }, 'createAccounts: notifications must be "on" or "off", got "yes"'],
    [{ clock: 'now' }, 'createAccounts: clock must be an object with now(), after(), got a string'],
    [
      { mainnet: 'https://node.example' },
      'createAccounts: mainnet must be an object with isValidSignature(), got a string',
    ],
    [{ random: Math }, 'createAccounts: random must be an object with bytes(), uuid(), fraction(), got an object'],
    [{ tokens: 5 }, 'createAccounts: tokens must be a function, got 5'],
    [{ timeout: 0 }, 'createAccounts: timeout must be an integer from 1 up, got 0'],
    [{ timeout: 1.5 }, 'createAccounts: timeout must be an integer from 1 up, got 1.5'],
    [{ balanceInterval: -1 }, 'createAccounts: balanceInterval must be an integer from 1 up, got -1'],
    [{ maxSubscriptions: 0 }, 'createAccounts: maxSubscriptions must be an integer from 1 up, got 0'],
    [{ maxInvitations: 0 }, 'createAccounts: maxInvitations must be an integer from 1 up, got 0'],
    [
      { deliveries: { maxRetryDelay: Number.POSITIVE_INFINITY } },
      'createAccounts: deliveries.maxRetryDelay must be an integer from 1 up, got Infinity',
    ],
    [
      { deliveries: { retryDelay: 0.5 } },
      'createAccounts: deliveries.retryDelay must be an integer from 1 up, got 0.5',
    ],
    [
      { deliveries: { attempts: Number.NaN } },
      'createAccounts: deliveries.attempts must be an integer from 1 up, got NaN',
    ],
    [{ deliveries: { timeout: -1 } }, 'createAccounts: deliveries.timeout must be an integer from 1 up, got -1'],
    [
      { deliveries: { maxDelay: 1 } },
      'createAccounts, deliveries: unknown option "maxDelay", use attempts, retryDelay, maxRetryDelay, timeout',
    ],
    [{ retention: 1e300 }, 'createAccounts: retention must be a positive number of days, got 1e+300'],
    [{ channels: [channel, channel] }, 'createAccounts: channels must have unique names'],
    [{ streams: { queueSize: 0 } }, 'createAccounts: streams.queueSize must be an integer from 1 up, got 0'],
    [{ affiliates: { statistics: 'own' } }, "createAccounts: affiliates.statistics 'own' requires affiliates.terms"],
    [{ affiliates: { domainName: '' } }, 'createAccounts: affiliates.domainName must be a non-empty string'],
    [{ affiliates: { domainName: 5 } }, 'createAccounts: affiliates.domainName must be a non-empty string'],
    [{ audience: '' }, 'createAccounts: audience must be a non-empty string'],
    [{ simulators: { 1: {} } }, 'createAccounts: simulators must be simulators by chain id'],
    [{ usdPrices: { sources: 5 } }, 'createAccounts: usdPrices.sources must be a list of sources'],
    [{ books: 5 }, 'createAccounts: books must be a list of books'],
    [{ books: [undefined] }, 'createAccounts: books must be a list of books'],
  ])('%# are rejected and named', (changes, message) => {
    expect(() => createAccounts({ ...DEFAULTS, ...changes } as AccountsOptions)).toThrow(new TypeError(message));
  });

  test('accept every number at its minimum', () => {
    const minimal = { timeout: 1, balanceInterval: 1, maxSubscriptions: 1, maxInvitations: 1 };
    expect(() => createAccounts({ ...DEFAULTS, ...minimal, channels: [channel] })).not.toThrow();
  });

  test('reject an interval of the funding check for a book with a chain', () => {
    const chain = { balanceAndAllowance: async () => ({ balance: 0n, allowance: 0n }) };
    const book = createOrderBook({
      chainId: SEPOLIA,
      store: memoryStore(),
      chain: { name: 'node', ...chain } as never,
    });
    const message = 'createAccounts: fundingInterval must be an integer from 1 up, got 0';
    expect(() => createAccounts({ ...DEFAULTS, books: [book], fundingInterval: 0 })).toThrow(new TypeError(message));
    expect(() => createAccounts({ ...DEFAULTS, books: [book], fundingInterval: 'off' })).not.toThrow();
  });

  test('reject an unknown option and name a similar one', () => {
    const misspelt = { ...DEFAULTS, chanels: [] } as AccountsOptions;
    expect(() => createAccounts(misspelt)).toThrow(/createAccounts: unknown option "chanels".*channels/);
  });
});

describe('account interface', () => {
  test('rejects every call before its start and after its end', async () => {
    const accounts = createAccounts({ ...DEFAULTS, store: memoryAccountStore() });
    const missing = new StoreError('NotStarted', 'the account interface is not started; call start() first');
    const closed = new StoreError('Closed', 'the account interface is closed');
    const calls = [
      () => accounts.notifications.list(ALICES),
      () => accounts.notifications.stream(ALICES),
      () => accounts.deliveries.list({ state: 'dead' }),
      () => accounts.deliveries.replay(),
      () => accounts.forget(ALICES),
      () => accounts.backlog(),
      () => accounts.affiliates.get(ALICES),
      () => accounts.subscriptions.confirm('x'),
    ];
    for (const call of calls) await expect(call()).rejects.toEqual(missing);
    expect(await accounts.ready()).toEqual({ ready: false, checks: { accounts: 'NotStarted' } });
    await accounts.start();
    await accounts.start();
    expect(await accounts.ready()).toEqual({ ready: true, checks: { accounts: 'ok' } });
    for (const call of calls.slice(0, 5)) await call();
    await accounts.close();
    await accounts.close();
    for (const call of calls) await expect(call()).rejects.toEqual(closed);
  });

  test.each([
    [new StoreError('Unavailable', 'gone'), 'Unavailable'],
    [new Error('gone'), 'unavailable'],
  ])('is not ready while its store fails: %s', async (failure, check) => {
    const store: AccountStore = { ...memoryAccountStore(), check: () => Promise.reject(failure) };
    const { accounts } = await started({ store });
    expect(await accounts.ready()).toEqual({ ready: false, checks: { accounts: check } });
  });

  test('starts and stops its channels once, which confirm tokens and report failures', async () => {
    const recorded = recordedChannel('a');
    const { accounts, failures } = await started({ channels: [recorded.channel] });
    await accounts.start();
    expect(recorded.calls).toEqual(['start']);
    expect(await recorded.host?.confirm('unknown', 'target')).toBe(false);
    const broken = new Error('channel');
    recorded.host?.report(broken);
    expect(failures).toEqual([broken]);
    await accounts.close();
    await accounts.close();
    expect(recorded.calls).toEqual(['start', 'stop']);
  });

  test('starts and stops although a channel fails, and closes its store', async () => {
    const broken = new Error('the channel is offline');
    const first = recordedChannel('a');
    const second = recordedChannel('b');
    const third = recordedChannel('c');
    const throwing = () => {
      throw broken;
    };
    const rejecting = async () => throwing();
    const memory = memoryAccountStore();
    const closes: string[] = [];
    const close = async () => {
      closes.push('store');
      await memory.close();
    };
    const channels = [
      { ...first.channel, start: throwing, stop: rejecting },
      { ...second.channel, start: rejecting, stop: rejecting },
      third.channel,
    ];
    const { accounts, failures } = await started({ channels, store: { ...memory, close } });
    expect(await accounts.ready()).toMatchObject({ ready: true });
    await accounts.close();
    expect(third.calls).toEqual(['start', 'stop']);
    expect(failures).toEqual([broken, broken, broken, broken]);
    expect(closes).toEqual(['store']);
  });

  /** A channel that stops when the test permits it. */
  function heldClose() {
    let permit = () => {};
    const permitted = new Promise<void>((resolve) => {
      permit = resolve;
    });
    const { channel } = recordedChannel('a');
    return { channels: [{ ...channel, stop: () => permitted }], permit };
  }

  test('concurrent calls of close wait for the same end', async () => {
    const { channels, permit } = heldClose();
    const { accounts } = await started({ channels });
    const ended: string[] = [];
    const closes = ['first', 'second'].map((name) => accounts.close().then(() => ended.push(name)));
    await setImmediate();
    expect(ended).toEqual([]);
    permit();
    await Promise.all(closes);
    expect(ended).toEqual(['first', 'second']);
  });

  test('a start during a close waits for it', async () => {
    const { channels, permit } = heldClose();
    const { accounts } = await started({ channels });
    const calls = [accounts.close(), accounts.start()];
    await setImmediate();
    permit();
    await Promise.all(calls);
    expect(await accounts.ready()).toMatchObject({ ready: true });
  });

  test('concurrent calls of start start once, and a close during a start closes', async () => {
    const recorded = recordedChannel('a');
    const accounts = createAccounts({ books, store: memoryAccountStore(), channels: [recorded.channel] });
    await Promise.all([accounts.start(), accounts.start(), accounts.close()]);
    expect(recorded.calls).toEqual(['start', 'stop']);
    expect(await accounts.ready()).toMatchObject({ ready: false });
  });

  test('without notifications starts no channel, and responds with 503', async () => {
    const recorded = recordedChannel('a');
    const book = createOrderBook({ chainId: SEPOLIA, store: memoryStore() });
    await book.start();
    onTestFinished(() => book.close());
    const { accounts } = await started({ channels: [recorded.channel], notifications: 'off', books: [book] });
    expect(recorded.calls).toEqual([]);
    for (const call of [
      () => accounts.notifications.list(ALICES),
      () => accounts.notifications.stream(ALICES),
      () => accounts.subscriptions.create(ALICES, {} as SubscriptionRequest),
    ]) {
      await expect(call()).rejects.toMatchObject({ status: 503, message: 'Notifications are disabled' });
    }
    expect(await accounts.backlog()).toEqual({ deliveries: { pending: 0, dead: 0, suspended: 0 }, books: [] });
  });

  test('reports the entries of each book that are not processed', async () => {
    const book = createOrderBook({ chainId: SEPOLIA, store: memoryStore() });
    await book.start();
    onTestFinished(() => book.close());
    const memory = memoryAccountStore();
    const at = { last: 9, cursor: 4 as number | null };
    const follow = { ...book, log: { ...book.log, last: async () => at.last, after: async () => [] } };
    const store = { ...memory, notifications: { ...memory.notifications, cursor: async () => at.cursor } };
    const { accounts } = await started({ store, books: [follow] });
    const entries = async () => (await accounts.backlog()).books.map((each) => each.entries);
    expect(await entries()).toEqual([5]);
    at.cursor = null;
    expect(await entries()).toEqual([9]);
    at.cursor = 12;
    expect(await entries()).toEqual([9]);
    at.last = 0;
    at.cursor = 0;
  });

  test('ignores what its failure handler throws', async () => {
    const recorded = recordedChannel('a');
    await started({
      channels: [recorded.channel],
      onFailure: () => {
        throw new Error('handler');
      },
    });
    expect(() => recorded.host?.report(new Error('channel'))).not.toThrow();
  });

  test('replays given or all dead deliveries at the current time', async () => {
    const memory = memoryAccountStore();
    const replays: unknown[] = [];
    const listed: unknown[] = [];
    const deliveries: AccountStore['deliveries'] = {
      ...memory.deliveries,
      async replay(request) {
        replays.push(request);
        return 3;
      },
      async list(query) {
        listed.push(query);
        return [];
      },
    };
    const { accounts, clock } = await started({ store: { ...memory, deliveries } });
    expect([await accounts.deliveries.replay([1, 2]), await accounts.deliveries.replay()]).toEqual([3, 3]);
    expect(replays).toEqual([{ seqs: [1, 2], now: clock.now() }, { now: clock.now() }]);
    await accounts.deliveries.list({ state: 'dead' });
    await accounts.deliveries.list({ state: 'pending', limit: 5 });
    expect(listed).toEqual([
      { state: 'dead', limit: 100 },
      { state: 'pending', limit: 5 },
    ]);
  });

  test('stays available if the content system fails', async () => {
    const broken = new Error('content');
    const { accounts, failures } = await started({ announcements: () => Promise.reject(broken) });
    expect((await accounts.notifications.list(ALICES)).notifications).toEqual([]);
    expect(failures).toEqual([broken]);
  });
});
