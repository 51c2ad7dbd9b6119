import type { Hex, QuoteResponse } from 'intentbook';
import { NOTIFICATION_TYPES } from 'intentbook/accounts';
import { serveBooks } from 'intentbook/server';
import {
  assertKnownOptions,
  chainById,
  defined,
  MAX_TIMER,
  MAX_UINT256,
  ORDER_STATUSES,
  requireInteger,
  requireMember,
} from '#internal';
import {
  checkAddress,
  checkAmounts,
  checkNotNative,
  checkOptions,
  checkSeconds,
  checkTimeout,
  checkTokenAmount,
  checkValidity,
} from './arguments.ts';
import { createBalanceSessions } from './balance-sessions.ts';
import type { SandboxAccount } from './chain.ts';
import { createControlApi } from './control-api.ts';
import { FAULT_POINTS } from './faults.ts';
import { createFrontEndContent } from './front-end-content.ts';
import { loadKeyRing } from './keys.ts';
import type { Sandbox, SandboxOptions, SandboxQuote, SandboxQuoteOptions, TokenAmounts } from './sandbox-types.ts';
import { createTaskQueue } from './task-queue.ts';
import type { SandboxToken } from './tokens.ts';
import { createTrader, type TokenAmount, type TraderContext } from './trader.ts';
import { toAtoms } from './units.ts';
import { openWorld, type World } from './world.ts';

/** Native currency that a trader gets for gas. */
const GAS_MONEY = '100';

/** Maximum number of blocks that one call makes or replaces. */
const MAX_BLOCKS = 10_000;

/** Longest time between two attempts of the indexer, in milliseconds. */
const MAX_RETRY_DELAY = 30_000;

const OPERATOR_TOKEN = 'sandbox';

/**
 * Creates a sandbox: a local chain with the production contracts, an order book that is served over HTTP, and a solver.
 *
 * ```ts
 * const sandbox = await createSandbox();
 * const trader = await sandbox.createTrader({ WETH: '10' });
 * const quote = await sandbox.quote(trader, { sell: ['1', 'WETH'], for: 'USDC' });
 * const uid = await trader.placeOrder(quote, { slippageBps: 50 });
 * await sandbox.waitFor(uid, 'fulfilled');
 * await sandbox.close();
 * ```
 *
 * @throws MissingPackage if an optional package is not installed, with the command that installs it.
 * @throws TypeError if an option is unknown or malformed.
 */
export async function createSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  assertKnownOptions('createSandbox', options, OPTIONS);
  checkOptions(options);
  const { solver: mode = 'auto' } = options;
  const loading = loadKeyRing();
  const world = await openWorld(options, loading);
  const keys = await loading;
  const { chain, tokens, book, accountInterface, solver, clock, faults, token, synchronize } = world;
  const { chainId, contracts } = chain;
  const names = { [contracts.solver]: 'Sandbox solver' };
  const server = await serveBooks({
    books: [{ book, chain: chainById(chainId)?.segment ?? String(chainId), names, blockExplorer: false }],
    accounts: accountInterface,
    operatorToken: OPERATOR_TOKEN,
    apis: {
      '/sandbox': createControlApi(() => sandbox),
      ...createBalanceSessions(chainId, accountInterface, tokens),
      ...createFrontEndContent({ chainId, tokens, solver: { address: contracts.solver, name: solver.name } }),
    },
    ...defined({ limiter: options.limiter, host: options.host }),
    port: options.port ?? 0,
  }).catch(async (error: unknown) => {
    await world.close();
    if (Object(error).code !== 'EADDRINUSE') throw error;
    throw new Error(`the port ${options.port} is in use, choose another (port, --port)`, { cause: error });
  });
  const context: TraderContext = { ...world, keys };
  let traders = world.savedTraders;
  /** The last block in which an account was funded. A reorganisation keeps it. */
  let fundedAt = world.firstBlock;

  function newAccount(): SandboxAccount {
    traders++;
    return keys.derive(`${options.seed ?? ''} trader ${traders}`);
  }

  async function give(address: Hex, amounts: TokenAmounts): Promise<void> {
    checkAmounts(amounts);
    // All amounts are checked before the first one is added.
    const added = Object.entries(amounts).map(([symbol, amount]) => {
      const of = token(symbol);
      const atoms = toAtoms(amount, of.decimals);
      if (atoms > MAX_UINT256) throw new TypeError(`amount must have at most 256 bits in atoms, got "${amount}"`);
      return { of: symbol === 'ETH' ? ('native' as const) : of, atoms };
    });
    await Promise.all(added.map(({ of, atoms }) => chain.fund(address, of, atoms)));
  }

  /** Runs work that funds accounts, or that reverts blocks. A block with funds must not be reverted. */
  const inOrder = createTaskQueue();

  /** Makes a block after a change of balances, so that the book and the solver read them. */
  async function publish(): Promise<void> {
    await chain.mine(1);
    await synchronize();
    solver.wake();
  }

  /** Creates balances, and a block with them. */
  function publishFunds<T>(change: () => Promise<T>): Promise<T> {
    return inOrder(async () => {
      const result = await change();
      await publish();
      fundedAt = (await chain.head()).number;
      return result;
    });
  }

  async function prepare(address: Hex, amounts: TokenAmounts): Promise<void> {
    await Promise.all([give(address, amounts), ...tokens.map((each) => chain.approve(address, each, MAX_UINT256))]);
  }

  async function changeToken(symbol: string, change: (of: SandboxToken) => Promise<void>): Promise<void> {
    const of = token(symbol);
    checkNotNative(of, chain.contracts.wrappedNative);
    await change(of);
    await synchronize();
    solver.wake();
  }

  let closing: Promise<void> | undefined;
  function close(): Promise<void> {
    closing ??= server.close().then(() => world.close(traders));
    return closing;
  }

  const sandbox: Sandbox = {
    chainId,
    settlementContract: contracts.settlement,
    vaultRelayer: contracts.vaultRelayer,
    url: server.url,
    rpcUrl: chain.rpcUrl,
    docsUrl: server.docsUrl,
    solverAddress: contracts.solver,
    operatorToken: OPERATOR_TOKEN,
    book,
    accountInterface,
    accounts: chain.accounts,
    tokens,
    failures: world.failures,

    async createTrader(amounts = {}) {
      checkAmounts(amounts);
      const account = newAccount();
      await publishFunds(() => prepare(account.address, { ETH: GAS_MONEY, ...amounts }));
      return createTrader(account, context);
    },

    async createSmartWallet(amounts = {}) {
      checkAmounts(amounts);
      const account = newAccount();
      const wallet = await publishFunds(async () => {
        const [address] = await Promise.all([
          chain.createWallet(account.address),
          give(account.address, { ETH: GAS_MONEY }),
        ]);
        await prepare(address, amounts);
        return address;
      });
      return createTrader(account, context, wallet);
    },

    traderOf: (account) => createTrader(account, context),

    async fund(account, amounts) {
      const address = typeof account === 'string' ? account : account.address;
      checkAddress(address);
      await publishFunds(() => give(address.toLowerCase() as Hex, amounts)); // checked
    },

    token,

    async quote({ address }, terms, quoteOptions = {}) {
      checkAddress(address);
      checkValidity(quoteOptions.validFor);
      assertKnownOptions('quote', quoteOptions, ['appData', 'validFor', 'scheme']);
      return requestQuote(world, address, terms, quoteOptions);
    },

    async waitFor(uid, status, { timeout } = {}) {
      requireMember('status', ORDER_STATUSES, status);
      const current = async () => (await book.orders.get(uid))?.status;
      await until(
        async () => ((await current()) === status ? status : undefined),
        async () => {
          const found = await current();
          const details = found === 'open' && status === 'fulfilled' ? `; ${await solver.explain(uid)}` : '';
          return `order ${uid} must be ${status}, is ${found ?? 'unknown'}${details},`;
        },
        timeout,
      );
    },

    async waitForNotification({ address }, type, { timeout } = {}) {
      requireMember('type', NOTIFICATION_TYPES, type);
      const list = async () => (await accountInterface.notifications.list(address)).notifications;
      const find = async () => (await list()).find((each) => each.type === type);
      return until(
        find,
        async () => {
          const types = (await list()).map((each) => each.type);
          return `${address} must have a notification ${type}, has [${types.join(', ')}],`;
        },
        timeout,
      );
    },

    synchronize,

    async settle(uid, settleOptions = {}) {
      assertKnownOptions('settle', settleOptions, ['fill', 'fee']);
      if (mode === 'off') throw new Error('solver must be "auto" or "manual" to settle, got "off"');
      await synchronize();
      await world.withoutSolver(async () => {
        if (uid === undefined) await solver.run();
        else await solver.settle(uid, settleOptions);
      });
      await synchronize();
    },

    pauseSolver: () => world.setSolving(false),

    async resumeSolver() {
      await world.setSolving(mode !== 'off');
    },

    setPrice: (symbol, price) => changeToken(symbol, (of) => chain.setPrice(of, String(price))),
    freeze: (symbol, frozen = true) => changeToken(symbol, (of) => chain.freeze(of, frozen)),

    async advance(seconds) {
      checkSeconds(seconds, clock.now());
      await chain.advance(seconds);
      clock.advance(seconds * 1000);
      await synchronize();
    },

    async mine(blocks = 1) {
      requireInteger('blocks', blocks, 1, MAX_BLOCKS);
      await chain.mine(blocks);
      await synchronize();
    },

    async reorg(depth = 1) {
      requireInteger('depth', depth, 1, MAX_BLOCKS);
      await inOrder(async () => {
        const most = (await chain.head()).number - fundedAt;
        if (depth > most) {
          throw new RangeError(`depth must be at most ${most}, the blocks after the last funding, got ${depth}`);
        }
        await chain.reorganize(depth);
      });
      await synchronize();
    },

    snapshot: world.snapshot,
    async revert(snapshot) {
      await inOrder(async () => {
        await world.revert(snapshot);
        fundedAt = Math.min(fundedAt, (await chain.head()).number);
      });
    },

    fail(point, { times = 1 } = {}) {
      requireMember('point', FAULT_POINTS, point);
      if (times !== Number.POSITIVE_INFINITY) requireInteger('times', times, 1);
      faults.fail(point, times);
    },
    stopNode: () => faults.fail('node', Number.POSITIVE_INFINITY),
    slowNode(ms) {
      requireInteger('ms', ms, 0, MAX_TIMER);
      faults.delayNode(ms);
    },
    async restore() {
      faults.clear();
      // The indexer does not wait for the end of its retry delay, and the next block refreshes the auction.
      clock.runEarly(MAX_RETRY_DELAY);
      await publish();
    },

    close,
    [Symbol.asyncDispose]: close,
  };
  return sandbox;
}

/** Requests a quote of whole tokens. */
async function requestQuote(
  { book, token }: World,
  from: string,
  terms: SandboxQuote,
  { appData = '{}', validFor = 1800, scheme = 'eip712' }: SandboxQuoteOptions,
): Promise<QuoteResponse> {
  const given = Object(terms) as { sell?: TokenAmount; buy?: TokenAmount; for?: string; with?: string };
  const side = given.sell ?? given.buy;
  const otherSymbol = given.sell === undefined ? given.with : given.for;
  if (!Array.isArray(side) || typeof otherSymbol !== 'string') {
    const forms = '{ sell: [amount, symbol], for: symbol } or { buy: [amount, symbol], with: symbol }';
    const got = `{ ${Object.keys(given).join(', ')} }`;
    throw new TypeError(`quote: terms must be ${forms}, such as { sell: ["1", "WETH"], for: "USDC" }, got ${got}`);
  }
  checkTokenAmount(given.sell === undefined ? 'buy' : 'sell', side);
  const [whole, symbol] = side as TokenAmount;
  const fixed = token(symbol);
  const other = token(otherSymbol);
  const amount = String(toAtoms(whole, fixed.decimals));
  const result = await book.quotes.request({
    from,
    appData,
    validFor,
    signingScheme: scheme,
    ...('sell' in terms
      ? { kind: 'sell', sellToken: fixed.address, buyToken: other.address, sellAmountBeforeFee: amount }
      : { kind: 'buy', sellToken: other.address, buyToken: fixed.address, buyAmountAfterFee: amount }),
  });
  if (result.status === 'rejected') throw result.error;
  return result.quote;
}

/** Waits until something is found. @throws Error with the description after the timeout, in milliseconds. */
async function until<T>(
  find: () => Promise<T | undefined>,
  describe: () => Promise<string>,
  timeout = 10_000,
): Promise<T> {
  checkTimeout(timeout);
  const deadline = performance.now() + timeout;
  for (;;) {
    const found = await find();
    if (found !== undefined) return found;
    if (performance.now() > deadline) throw new Error(`${await describe()} after ${timeout} ms`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

const OPTIONS = [
  'chain',
  'chainId',
  'fork',
  'tokens',
  'host',
  'port',
  'rpcPort',
  'blockTime',
  'solver',
  'policy',
  'limiter',
  'solverEngine',
  'channels',
  'seed',
  'state',
] as const satisfies readonly (keyof SandboxOptions)[];
