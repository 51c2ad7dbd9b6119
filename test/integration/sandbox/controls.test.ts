import type { SandboxOptions, SandboxQuote } from 'intentbook/sandbox';
import { createSandbox } from 'intentbook/sandbox';
import { describe, expect, it } from 'vitest';

const TERMS = { sell: ['1', 'WETH'], for: ['2400', 'USDC'] } as const;

describe.each(['anvil', 'simulated'] as const)('a sandbox on %s', (chain) => {
  const open = (options: SandboxOptions = {}) => createSandbox({ ...options, chain });

  describe('snapshot and revert', () => {
    it('restore the chain, the book, the notifications and the time, any number of times', async () => {
      await using sandbox = await open();
      const trader = await sandbox.createTrader({ WETH: '10' });
      await sandbox.pauseSolver();
      const uid = await trader.placeOrder(TERMS);
      const log = await sandbox.book.log.last();
      const snapshot = await sandbox.snapshot();
      const time = sandbox.book.clock.now();
      for (let i = 0; i < 3; i++) {
        await sandbox.settle(uid);
        const other = await trader.placeOrder(TERMS);
        await sandbox.advance(10_000);
        await sandbox.waitForNotification(trader, 'order_filled');
        await sandbox.revert(snapshot);
        expect(await sandbox.book.orders.get(uid)).toMatchObject({ status: 'open', executedBuyAmount: '0' });
        expect(await sandbox.book.orders.get(other)).toBeUndefined();
        expect(await sandbox.book.log.last()).toBe(log);
        expect(await trader.balanceOf('WETH')).toBe(10n * 10n ** 18n);
        expect((await sandbox.accountInterface.notifications.list(trader.address)).notifications).toEqual([]);
        expect(sandbox.book.clock.now() - time).toBeLessThan(5_000);
      }
      await sandbox.resumeSolver();
      await sandbox.waitFor(uid, 'fulfilled');
      expect(sandbox.failures).toEqual([]);
    });

    it('keep snapshots apart that are requested at the same time', async () => {
      await using sandbox = await open();
      const ids = await Promise.all([sandbox.snapshot(), sandbox.snapshot()]);
      expect(ids).toEqual(['1', '2']);
    });

    it('does not use the id of an invalid snapshot again', async () => {
      await using sandbox = await open();
      const first = await sandbox.snapshot();
      const second = await sandbox.snapshot();
      await sandbox.revert(first);
      expect([first, second]).not.toContain(await sandbox.snapshot());
      await expect(sandbox.revert(second)).rejects.toThrow(`snapshot must be one of this sandbox, got "${second}"`);
    });

    it('keeps an earlier snapshot valid after a later one', async () => {
      await using sandbox = await open();
      const first = await sandbox.snapshot();
      const trader = await sandbox.createTrader({ DAI: '1' });
      const second = await sandbox.snapshot();
      await sandbox.fund(trader, { DAI: '1' });
      await sandbox.revert(second);
      expect(await trader.balanceOf('DAI')).toBe(10n ** 18n);
      await sandbox.revert(first);
      expect(await trader.balanceOf('DAI')).toBe(0n);
      await expect(sandbox.revert(second)).rejects.toThrow(`snapshot must be one of this sandbox, got "${second}"`);
    });
  });

  describe('setPrice and freeze', () => {
    it('reject native currency, its wrapped form and prices that a pool cannot have', async () => {
      await using sandbox = await open();
      const head = await sandbox.book.chain.progress();
      for (const symbol of ['ETH', 'WETH']) {
        const message = `token must not be native currency or its wrapped form, got "${symbol}"`;
        await expect(sandbox.setPrice(symbol, '2')).rejects.toThrow(new TypeError(message));
        await expect(sandbox.freeze(symbol)).rejects.toThrow(new TypeError(message));
      }
      await expect(sandbox.setPrice('DAI', '0.00000000000000000001')).rejects.toThrow(
        'price must fit a pool of 10000 of native currency with 1 to 2^112 - 1 atoms of DAI (18 decimals)',
      );
      await expect(open({ tokens: [{ symbol: 'UNIT', decimals: 0, price: '20000' }] })).rejects.toThrow('needs less');
      const trader = await sandbox.createTrader();
      await expect(trader.approve('ETH')).rejects.toThrow('token must not be native currency');
      expect((await sandbox.book.chain.progress()).indexedBlock?.number).toBe((head.indexedBlock?.number ?? 0) + 1);
    });
  });

  describe('fund', () => {
    it('adds no amount if one of them is invalid', async () => {
      await using sandbox = await open();
      const trader = await sandbox.createTrader();
      await expect(sandbox.fund(trader, { DAI: '1', NONE: '1' })).rejects.toThrow('token must be one of');
      await sandbox.mine();
      expect(await trader.balanceOf('DAI')).toBe(0n);
    });

    it('adds the amounts of concurrent calls', async () => {
      await using sandbox = await open();
      const trader = await sandbox.createTrader({ USDC: '1' });
      const before = await trader.balanceOf('ETH');
      await Promise.all(Array.from({ length: 4 }, () => sandbox.fund(trader, { USDC: '2', ETH: '1' })));
      expect(await trader.balanceOf('USDC')).toBe(9n * 10n ** 18n);
      expect((await trader.balanceOf('ETH')) - before).toBe(4n * 10n ** 18n);
    });
  });

  describe('reorg', () => {
    it('takes a settlement back, and the solver settles the order again', async () => {
      await using sandbox = await open();
      const trader = await sandbox.createTrader({ WETH: '1' });
      const uid = await trader.placeOrder(TERMS);
      await sandbox.waitFor(uid, 'fulfilled');
      await sandbox.pauseSolver();
      await sandbox.reorg(1);
      expect(await sandbox.book.orders.get(uid)).toMatchObject({ status: 'open', executedSellAmount: '0' });
      await sandbox.resumeSolver();
      await sandbox.waitFor(uid, 'fulfilled');
    });

    it('keeps the blocks in which accounts were funded', async () => {
      await using sandbox = await open();
      await expect(sandbox.reorg(1)).rejects.toThrow(RangeError);
      const trader = await sandbox.createTrader({ WETH: '1' });
      const snapshot = await sandbox.snapshot();
      await sandbox.mine(2);
      await expect(sandbox.reorg(3)).rejects.toThrow(RangeError);
      await sandbox.reorg(2);
      expect(await trader.balanceOf('WETH')).toBe(10n ** 18n);
      await sandbox.fund(trader, { WETH: '1' });
      await sandbox.revert(snapshot);
      await sandbox.mine(1);
      await sandbox.reorg(1);
      expect(await trader.balanceOf('WETH')).toBe(10n ** 18n);
    });
  });

  describe('failures', () => {
    it('a node that is stopped keeps the book from reading the chain until it is restored', async () => {
      await using sandbox = await open();
      const trader = await sandbox.createTrader({ WETH: '2' });
      const uid = await trader.placeOrder(TERMS);
      sandbox.stopNode();
      const slippage = trader.placeOrder(TERMS, { slippageBps: 50 });
      await expect(slippage).rejects.toThrow('placeOrder: slippageBps applies to a quote only');
      await expect(trader.placeOrder(TERMS)).rejects.toMatchObject({ code: 'ChainUnavailable' });
      await sandbox.restore();
      await sandbox.waitFor(uid, 'fulfilled');
    });

    it('a slow node delays the acceptance of an order, or makes it fail', async () => {
      await using sandbox = await open();
      const trader = await sandbox.createTrader({ WETH: '2' });
      sandbox.slowNode(4_000);
      await expect(trader.placeOrder(TERMS)).rejects.toMatchObject({ code: 'ChainUnavailable' });
      sandbox.slowNode(30);
      const uid = await trader.placeOrder(TERMS);
      await sandbox.waitFor(uid, 'fulfilled');
    });

    it('a failed commit stores nothing', async () => {
      await using sandbox = await open();
      const trader = await sandbox.createTrader({ WETH: '2' });
      sandbox.fail('commit');
      await expect(trader.placeOrder(TERMS)).rejects.toMatchObject({ code: 'Unavailable' });
      expect(await sandbox.book.orders.list({ owner: trader.address })).toMatchObject({ orders: [] });
    });

    it('an order that cannot be settled is named with the reason', async () => {
      await using sandbox = await open();
      const trader = await sandbox.createTrader({ USDC: '100' });
      await sandbox.freeze('USDC');
      const uid = await trader.placeOrder({ sell: ['100', 'USDC'], for: ['0.03', 'WETH'] });
      await expect(sandbox.waitFor(uid, 'fulfilled', { timeout: 500 })).rejects.toThrow(
        `order ${uid} must be fulfilled, is open; the last settlement failed with`,
      );
      await sandbox.freeze('USDC', false);
      await sandbox.waitFor(uid, 'fulfilled');
    });
  });
});

describe('sandboxes that are open at the same time', () => {
  it('have chains and books that do not affect each other', async () => {
    const [one, other] = await Promise.all([createSandbox(), createSandbox()]);
    try {
      expect(one.rpcUrl).not.toBe(other.rpcUrl);
      const traders = await Promise.all([one.createTrader({ WETH: '2' }), other.createTrader({ WETH: '1' })]);
      await one.setPrice('USDC', '0.0002');
      const quotes = [
        await one.quote(traders[0], { sell: ['1', 'WETH'], for: 'USDC' }),
        await other.quote(traders[1], { sell: ['1', 'WETH'], for: 'USDC' }),
      ];
      expect(quotes.map(({ quote }) => Math.round(Number(quote.buyAmount) / 1e21))).toEqual([5, 2]);
      const uid = await traders[0].placeOrder(TERMS);
      await one.waitFor(uid, 'fulfilled');
      expect(await other.book.orders.get(uid)).toBeUndefined();
      expect(await traders[1].balanceOf('WETH')).toBe(10n ** 18n);
    } finally {
      await Promise.all([one.close(), other.close()]);
    }
  });

  it('start on a port that is free, and name a port that is not', async () => {
    await using sandbox = await createSandbox({ chain: 'simulated' });
    const port = Number(new URL(sandbox.url).port);
    await expect(createSandbox({ chain: 'simulated', port })).rejects.toThrow(`the port ${port} is in use`);
  });
});

describe('options and arguments of a sandbox', () => {
  it.each([
    ['solver', 'automatic', 'solver must be one of auto, manual, off, got "automatic"'],
    ['chain', 'hardhat', 'chain must be one of anvil, simulated, got "hardhat"'],
    ['chain', 'sepolia', 'createSandbox: the chain "sepolia" is selected by chainId: 11155111'],
    ['chain', 'gnosis', 'createSandbox: the chain "gnosis" is selected by chainId: 100'],
    ['chainId', 'mainnet', 'createSandbox: chainId must be 1 for "mainnet"'],
    ['chainId', '1', 'createSandbox: chainId must be an integer from 1 up, got "1"'],
    ['port', '8080', 'port must be an integer from 0 to 65535, got "8080"'],
    ['rpcPort', 65_536, 'rpcPort must be an integer from 0 to 65535, got 65536'],
    ['blockTime', Number.NaN, 'blockTime must be an integer from 0 to 3600, got NaN'],
    ['seed', 0.5, 'seed must be an integer from 0 up, got 0.5'],
    ['host', 7, 'host must be a string, got 7'],
    ['tokens', 'USDC', 'tokens must be a list, got "USDC"'],
    ['tokens', [null], 'tokens must be symbols or descriptions, got null'],
    ['tokens', [{ symbol: 'ETH' }], 'symbol must not be "ETH", which is native currency'],
    ['tokens', ['toString'], 'tokens must be known symbols'],
    ['tokens', ['A', 'B'].map((symbol) => ({ symbol, address: `0x${'1'.repeat(40)}` })), 'an address twice'],
    ['policy', null, 'policy must be an object, got null'],
    ['blockTime', 12, 'blockTime must not be given with the simulated chain'],
    ['rpcPort', 8545, 'rpcPort must not be given with the simulated chain'],
    ['solverEngine', {}, 'solverEngine must be an object with the method solve'],
  ])('reject %s: %j', async (name, value, message) => {
    const options = { chain: 'simulated', [name]: value } as SandboxOptions;
    const opened = createSandbox(options);
    opened.then((sandbox) => sandbox.close()).catch(() => {});
    await expect(opened).rejects.toThrow(message);
  });

  it('reject malformed arguments, which have no effect', async () => {
    await using sandbox = await createSandbox({ chain: 'simulated' });
    const [account] = sandbox.accounts;
    const maker = await sandbox.createTrader();
    const head = (await sandbox.book.chain.progress()).indexedBlock?.number;
    const uid = `0x${'11'.repeat(56)}`;
    for (const [call, message] of [
      [() => sandbox.mine(Number.NaN), 'blocks must be an integer from 1 to 10000, got NaN'],
      [() => sandbox.reorg(-1), 'depth must be an integer from 1 to 10000, got -1'],
      [
        () => sandbox.quote(maker, { sell: [1, 'WETH'], for: 'USDC' }, { valid: 1 } as object),
        'unknown option "valid"',
      ],
      [
        () => maker.placeOrder(TERMS, { slippageBp: 1 } as object),
        'placeOrder: unknown option "slippageBp", did you mean',
      ],
      [() => maker.sellNative(1, { for: [1, 'USDC'], fee: 1 } as never), 'sellNative: unknown option "fee"'],
      [
        () => sandbox.settle(undefined, { filled: 1 } as object),
        'settle: unknown option "filled", did you mean "fill"',
      ],
      [
        () => sandbox.quote(maker, { sell: [1, 'WETH'] } as never),
        '{ sell: ["1", "WETH"], for: "USDC" }, got { sell }',
      ],
      [() => sandbox.quote(maker, { sell: [1, 'WETH'], for: 'usdc' }), 'got "usdc", did you mean "USDC"?'],
      [
        () => maker.placeOrder({ ...TERMS, slippageBps: 1 } as never),
        '"slippageBps", it belongs to the options, the sec',
      ],
      [() => maker.placeOrder({ sell: '1 WETH', for: '2 USDC' } as never), 'sell must be [amount, symbol], such as'],
      [
        () => maker.placeOrder({ ...TERMS, for: ['USDC', '1'] } as never),
        'for must be [amount, symbol], such as ["1", ',
      ],
      [() => maker.placeOrder(TERMS, { validFor: '60' } as never), 'validFor must be an integer from -4294967295 to'],
      [() => sandbox.quote(maker.address as never, { sell: [1, 'WETH'], for: 'DAI' }), 'account must be 0x and 40 hex'],
      [
        () => sandbox.quote(maker, { sell: ['WETH', 1], for: 'DAI' } as never),
        'sell must be [amount, symbol], such as',
      ],
      [
        () => sandbox.createTrader('WETH' as never),
        'amounts must be an object by symbol, such as { WETH: "1" }, got "WE',
      ],
      [
        () => sandbox.createTrader(['WETH'] as never),
        'amounts must be an object by symbol, such as { WETH: "1" }, got',
      ],
      [
        () => maker.placeOrder({ ...TERMS, price: 1 } as never),
        'terms: unknown member "price", use sell, buy, for, with',
      ],
      [() => sandbox.advance(2 ** 32), 'seconds must be an integer from 1 to'],
      [async () => sandbox.fail('nodes' as 'node'), 'point must be one of commit, read, node, quote, got "nodes"'],
      [async () => sandbox.fail('node', { times: Number.NaN }), 'times must be an integer from 1 up'],
      [async () => sandbox.slowNode(Number.POSITIVE_INFINITY), 'ms must be an integer from 0 to 2147483647, got Inf'],
      [() => sandbox.fund('0x12', { USDC: 1 }), 'account must be 0x and 40 hex digits, got "0x12"'],
      [() => sandbox.fund(account?.address ?? '', { USDC: '9'.repeat(80) }), 'amount must have at most 256 bits in'],
      [() => sandbox.waitFor(uid, 'open', { timeout: Number.NaN }), 'timeout must be a number of at least 0, got NaN'],
    ] as const) {
      await expect(call()).rejects.toThrow(message);
    }
    expect((await sandbox.book.chain.progress()).indexedBlock?.number).toBe(head);
    const trader = await sandbox.createTrader({ WETH: '1' });
    await sandbox.waitFor(await trader.placeOrder(TERMS), 'fulfilled');
  });
});

describe('time and prices', () => {
  it('advance moves the chain and the book together', async () => {
    await using sandbox = await createSandbox({ solver: 'off' });
    const before = sandbox.book.clock.now();
    await sandbox.advance(86_400);
    const response = await fetch(sandbox.rpcUrl ?? '', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_getBlockByNumber', params: ['latest', false] }),
    });
    const { result } = (await response.json()) as { result: { timestamp: string } };
    const chain = Number(result.timestamp) * 1000;
    expect(chain - before).toBeGreaterThan(86_390_000);
    expect(Math.abs(chain - sandbox.book.clock.now())).toBeLessThan(10_000);
  });

  it('setPrice moves quotes, and settles an order that waits for the price', async () => {
    await using sandbox = await createSandbox();
    const trader = await sandbox.createTrader({ WETH: '1' });
    const uid = await trader.placeOrder({ sell: ['1', 'WETH'], for: ['4000', 'USDC'] });
    await expect(sandbox.settle(uid)).rejects.toThrow('no price satisfies its limit');
    await sandbox.setPrice('USDC', '0.0002');
    await sandbox.waitFor(uid, 'fulfilled');
    const { quote } = await sandbox.quote(trader, { sell: ['1', 'WETH'], for: 'USDC' });
    expect(Number(quote.buyAmount) / 1e6).toBeGreaterThan(4900);
  });

  it('leaves an order open whose app data requires a wrapper contract, with the reason', async () => {
    await using sandbox = await createSandbox();
    const trader = await sandbox.createTrader({ WETH: '2' });
    const wrappers = [{ address: `0x${'ab'.repeat(20)}`, data: '0x' }];
    const appData = JSON.stringify({ metadata: { wrappers } });
    const uid = await trader.placeOrder(TERMS, { appData });
    await sandbox.waitFor(await trader.placeOrder(TERMS), 'fulfilled');
    const reason = 'its app data requires a wrapper contract, which the solver does not call';
    await expect(sandbox.settle(uid)).rejects.toThrow(reason);
    await expect(sandbox.waitFor(uid, 'fulfilled', { timeout: 200 })).rejects.toThrow(reason);
    expect((await sandbox.book.orders.get(uid))?.status).toBe('open');
  });

  it('tokens can be described, and unknown symbols are rejected', async () => {
    await using sandbox = await createSandbox({ tokens: [{ symbol: 'GOLD', decimals: 2, price: '3' }] });
    const trader = await sandbox.createTrader({ GOLD: '5.25' });
    const uid = await trader.placeOrder({ sell: ['5.25', 'GOLD'], for: ['15', 'WETH'] });
    await sandbox.waitFor(uid, 'fulfilled');
    const terms = { sell: '1', for: 'GOLD' } as unknown as SandboxQuote;
    await expect(sandbox.quote(trader, terms)).rejects.toThrow('such as { sell: ["1", "WETH"], for: "USDC" }');
    expect(() => sandbox.token('SILVER')).toThrow('token must be one of ETH, WETH, GOLD, got "SILVER"');
    await expect(createSandbox({ tokens: ['SILVER'] })).rejects.toThrow('tokens must be known symbols');
  });

  it('makes blocks at an interval', async () => {
    await using sandbox = await createSandbox({ blockTime: 1 });
    const trader = await sandbox.createTrader({ WETH: '1' });
    const uid = await trader.placeOrder(TERMS);
    await sandbox.waitFor(uid, 'fulfilled');
    expect((await sandbox.book.orders.get(uid))?.status).toBe('fulfilled');
  });
});

describe('controls over HTTP', () => {
  it('create traders, settle, move time and restore states', async () => {
    await using sandbox = await createSandbox({ chain: 'simulated', solver: 'manual' });
    const post = async (name: string, body?: unknown) => {
      const init =
        body === undefined ? {} : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } };
      const response = await fetch(`${sandbox.url}/sandbox/${name}`, { method: 'POST', ...init });
      return { status: response.status, body: (await response.json()) as Record<string, never> };
    };
    const described = (await (await fetch(`${sandbox.url}/sandbox`)).json()) as Record<string, unknown>;
    expect(described).toMatchObject({ url: sandbox.url, controlUrl: `${sandbox.url}/sandbox`, chainId: 11155111 });

    const { body: account } = await post('createTrader', { amounts: { WETH: '2' } });
    const trader = sandbox.traderOf(account as never);
    expect(await trader.balanceOf('WETH')).toBe(2n * 10n ** 18n);
    const { body: saved } = await post('snapshot');
    const uid = await trader.placeOrder(TERMS, { partiallyFillable: true });
    expect(await post('settle', { uid, fill: 0.5 })).toEqual({ status: 200, body: {} });
    expect((await sandbox.book.orders.get(uid))?.executedSellAmount).toBe(String(5n * 10n ** 17n));
    expect(await post('reorg', { depth: 1 })).toEqual({ status: 200, body: {} });
    expect((await sandbox.book.orders.get(uid))?.executedSellAmount).toBe('0');
    expect(await post('advance', { seconds: 100_000 })).toEqual({ status: 200, body: {} });
    expect((await sandbox.book.orders.get(uid))?.status).toBe('expired');
    expect((await post('settle', { uid })).status).toBe(409);
    expect(await post('revert', saved)).toEqual({ status: 200, body: {} });
    expect(await sandbox.book.orders.get(uid)).toBeUndefined();
  });

  it('reject unknown names and arguments', async () => {
    await using sandbox = await createSandbox({ chain: 'simulated' });
    const send = async (name: string, body: string, method = 'POST') => {
      const headers = { 'content-type': 'application/json' };
      const response = await fetch(`${sandbox.url}/sandbox/${name}`, { method, body, headers });
      return [response.status, ((await response.json()) as { message: string }).message];
    };
    expect(await send('mines', '{}')).toEqual([
      404,
      expect.stringMatching(/^a control must be one of settle, .*, got "mines"$/),
    ]);
    expect(await send('mine', '{}', 'PUT')).toEqual([405, 'mine requires POST, got PUT']);
    for (const [name, body, text] of [
      ['mine', '{"block":1}', 'unknown member "block", did you mean "blocks"?; use blocks'],
      ['mine', '[]', 'the body must be a JSON object with blocks'],
      ['snapshot', '{"a":1}', 'unknown member "a"; it has no members'],
      ['advance', '{"seconds":0}', 'seconds must be an integer from 1 up, got 0'],
      ['advance', '{"seconds":"60"}', 'seconds must be an integer from 1 up, got "60"'],
      ['advance', '{}', 'seconds must be an integer from 1 up, it is missing'],
      ['fund', '{"account":"0x1","amounts":{}}', 'account must be 0x and 40 hex digits, got "0x1"'],
      [
        'fund',
        `{"account":"0x${'1'.repeat(40)}"}`,
        'amounts must be amounts by symbol, such as { "WETH": "1" }, it is missing',
      ],
      [
        'createTrader',
        '{"amounts":{"WETH":true}}',
        'amounts.WETH must be an amount of whole tokens, such as "1.5", got true',
      ],
      ['fail', '{"point":"nodes"}', 'point must be one of commit, read, node, quote, got "nodes"'],
      ['freeze', '{"symbol":"USDC","frozen":1}', 'frozen must be true or false, got 1'],
    ] as const) {
      expect(await send(name, body)).toEqual([400, text]);
    }
    expect(await send('mine', '{')).toEqual([400, 'the body is not JSON']);
    expect(await send('freeze', '{"symbol":"SILVER"}')).toEqual([400, expect.stringMatching(/^token must be one of /)]);
    expect(await send('slowNode', '{"ms":0}')).toEqual([200, undefined]);
    expect(await send('slowNode', '{"ms":1e12}')).toEqual([400, expect.stringMatching(/^ms must be an integer /)]);
    expect(await send('revert', '{"snapshot":"none"}')).toEqual([
      409,
      'snapshot must be one of this sandbox, got "none"',
    ]);
  });

  it('settle when the solver is manual', async () => {
    await using sandbox = await createSandbox({ chain: 'simulated', solver: 'manual' });
    const trader = await sandbox.createTrader({ WETH: '1' });
    const uid = await trader.placeOrder(TERMS);
    expect((await sandbox.book.orders.get(uid))?.status).toBe('open');
    const response = await fetch(`${sandbox.url}/sandbox/settle`, { method: 'POST' });
    expect(response.status).toBe(200);
    await sandbox.waitFor(uid, 'fulfilled');
  });
});
