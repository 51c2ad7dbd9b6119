import { resolve } from 'node:path';
import { createOrderBook, type RecoveryBackend } from 'intentbook';
import { type Accounts, createAccounts } from 'intentbook/accounts';
import { memoryAccountStore, memoryStore } from 'intentbook/memory';
import { fixedUsdPrices } from 'intentbook/prices';
import { NATIVE_MARKER, PRODUCTION_DOMAIN_NAME, VERSION } from '#internal';
import type { SandboxChain } from './chain.ts';
import { createSandboxClock } from './clock.ts';
import { createFaults } from './faults.ts';
import { listForkTokens } from './fork.ts';
import type { KeyRing } from './keys.ts';
import { createNodeChain } from './node-chain.ts';
import { recordedStore } from './recorded-store.ts';
import type { SandboxOptions } from './sandbox-types.ts';
import { createSimulatedChain, type SimulatedChainOptions } from './simulated-chain.ts';
import { createSandboxSolver } from './solving.ts';
import { readState, readVersion, type SavedSandbox, writeState } from './state-file.ts';
import { createTaskQueue } from './task-queue.ts';
import { readTokens, type SandboxToken } from './tokens.ts';

/** Terms of the affiliate programme: small amounts, which a few orders reach. */
const AFFILIATE_TERMS = {
  rewardAmount: 10,
  triggerVolume: 1_000,
  timeCapDays: 90,
  volumeCap: 1_000_000,
  revenueSplitAffiliatePct: 50,
  revenueSplitTraderPct: 50,
  revenueSplitDaoPct: 0,
} as const;

/** The parts of a sandbox, and the operations that need several of them. */
export type World = Awaited<ReturnType<typeof openOn>>;

/** Largest app-data document that a sandbox accepts, in bytes. */
const MAX_APP_DATA_SIZE = 8192;

/** Time between two looks of the book at the chain, in milliseconds. */
const POLL_INTERVAL = 20;

/** Time between two checks of balances for notifications, in milliseconds. */
const FUNDING_INTERVAL = 500;

/** Time between two checks for expired orders, in milliseconds. */
const EXPIRY_INTERVAL = 100;

/** Time that a node may take to respond, in milliseconds. */
const CHECK_TIMEOUT = 2_000;

/** US dollars for one unit of native currency. */
const NATIVE_USD = 2500;

/** Positions of the parts of a world at one moment. */
interface Snapshot {
  chain: string;
  readonly now: number;
  readonly books: number;
  readonly accounts: number;
}

/** Returns the token that is worth one dollar, for the history of prices. */
function dollarTokens(chainId: number, tokens: readonly SandboxToken[]) {
  const dollar = tokens.find(({ symbol }) => symbol === 'USDC' || symbol === 'DAI');
  return dollar === undefined ? {} : { [chainId]: { token: dollar.address, decimals: dollar.decimals } };
}

/** Starts a chain, a book, an account interface and a solver. */
export async function openWorld(given: SandboxOptions, keys: Promise<KeyRing>): Promise<World> {
  // The working directory may change before the file is written.
  const options = given.state === undefined ? given : { ...given, state: resolve(given.state) };
  const { chainId = 11155111, chain: kind = 'anvil', seed, fork } = options;
  const tokens = readTokens(chainId, fork === undefined ? options.tokens : listForkTokens(chainId, options.tokens));
  const symbols = tokens.map(({ symbol }) => symbol);
  const settings = JSON.stringify({ version: VERSION, chain: kind, chainId, seed, tokens: symbols });
  const version = await readVersion(options.state ?? '');
  const saved = options.state === undefined ? undefined : await readState(options.state, settings);
  const chain = await createChain(options, { chainId, tokens, keys, saved: saved?.chain });
  try {
    return await openOn(chain, options, keys, { settings, saved, version });
  } catch (error) {
    await chain.release();
    throw error;
  }
}

async function createChain(
  options: SandboxOptions,
  parts: Pick<SimulatedChainOptions, 'chainId' | 'tokens' | 'keys' | 'saved'>,
): Promise<SandboxChain> {
  const { chain = 'anvil', seed, host = '127.0.0.1', rpcPort: port = 0, blockTime = 0, fork } = options;
  if (chain === 'simulated') return createSimulatedChain({ ...parts, seed });
  return createNodeChain({ ...parts, host, port, seed, blockTime, fork, pollInterval: POLL_INTERVAL });
}

async function openOn(
  chain: SandboxChain,
  options: SandboxOptions,
  keys: Promise<KeyRing>,
  {
    settings,
    saved,
    version,
  }: { readonly settings: string; readonly saved: SavedSandbox | undefined; readonly version: string },
) {
  let ring: KeyRing | undefined;
  const backend: RecoveryBackend = {
    name: 'wasm',
    recover: (digest, rs, recoveryId) => ring?.recoverKey(digest, rs, recoveryId),
  };
  const { policy = {}, solver: mode = 'auto' } = options;
  const { chainId, contracts, tokens } = chain;
  const faults = createFaults();
  const clock = createSandboxClock();
  if (saved !== undefined && saved.now > clock.now()) clock.set(saved.now);
  const failures: unknown[] = [];
  const onFailure = (failure: unknown) => void failures.push(failure);
  const books = recordedStore(memoryStore, { faults, saved: saved?.books });
  const accounts = recordedStore(memoryAccountStore, { saved: saved?.accounts });
  const { estimator, gasPrice, simulator, verifier, orderSimulator, createPools, ...parts } = chain.bookParts(faults);
  const snapshots = new Map<string, Snapshot>();
  let solving = mode === 'auto';

  /** @throws TypeError if the symbol is unknown. */
  function token(symbol: string): SandboxToken {
    if (symbol === 'ETH') return { symbol, name: 'native currency', address: NATIVE_MARKER, decimals: 18, price: '1' };
    const found = tokens.find((each) => each.symbol === symbol);
    if (found !== undefined) return found;
    const symbols = ['ETH', ...tokens.map((each) => each.symbol)];
    const meant = symbols.find((each) => each.toLowerCase() === String(symbol).toLowerCase());
    const hint = meant === undefined ? '' : `, did you mean "${meant}"?`;
    throw new TypeError(`token must be one of ${symbols.join(', ')}, got ${JSON.stringify(symbol)}${hint}`);
  }

  const book = createOrderBook({
    ...parts,
    chainId,
    store: books.store,
    settlementContract: contracts.settlement,
    vaultRelayer: contracts.vaultRelayer,
    hooksTrampoline: contracts.hooksTrampoline,
    wrappedNative: contracts.wrappedNative,
    ...policy,
    limits: { maxAppDataSize: MAX_APP_DATA_SIZE, ...policy.limits },
    deniedTokens: [...(policy.deniedTokens ?? [])].map((symbol) => token(symbol).address),
    checkTimeout: CHECK_TIMEOUT,
    ...(orderSimulator === undefined ? {} : { simulator: orderSimulator }),
    expiryInterval: EXPIRY_INTERVAL,
    quotes: {
      estimators: [
        {
          name: estimator.name,
          async estimate(trade, context) {
            await faults.pass('quote');
            return estimator.estimate(trade, context);
          },
        },
      ],
      gasPrice,
      ...(verifier === undefined ? {} : { verifier }),
      quoteCacheTtl: 0,
      priceCacheTtl: 0,
    },
    recovery: backend,
    clock,
  });
  book.on('failure', onFailure);
  const readPrice = async (address: string) => (await accountInterface.usdPrices.get(chainId, address))?.price;
  const accountInterface: Accounts = createAccounts({
    books: [book],
    store: accounts.store,
    clock,
    onFailure,
    fundingInterval: FUNDING_INTERVAL,
    recovery: backend,
    tokens: (_, address) => tokens.find((each) => each.address === address),
    usdPrices: { sources: [usdPrices(chain)] },
    pools: [createPools(readPrice)],
    affiliates: { domainName: PRODUCTION_DOMAIN_NAME, terms: AFFILIATE_TERMS, statistics: 'own' },
    ...(options.channels === undefined ? {} : { channels: options.channels }),
    ...(simulator === undefined ? {} : { simulators: { [chainId]: simulator } }),
    slippage: { dollarTokens: dollarTokens(chainId, tokens) },
  });
  const solver = createSandboxSolver(book, chain, options.solverEngine);

  /** Waits until the book has read the newest block. Returns at once while the node is stopped. */
  async function synchronize(): Promise<void> {
    if (!faults.isActive('node')) await chain.synchronize(book);
  }

  /** Returns the newest block. */
  async function start(): Promise<number> {
    await book.start();
    await accountInterface.start();
    await chain.attach(book);
    await synchronize();
    if (solving) solver.start();
    return (await chain.head()).number;
  }

  async function stop(): Promise<void> {
    await solver.stop();
    await accountInterface.close();
    await book.close();
  }

  /** Runs work that stops or starts the solver. Concurrent calls, such as of two requests, are queued. */
  const inOrder = createTaskQueue();
  let isClosed = false;
  /** Number of snapshots, also of those that became invalid: their ids are not used again. */
  let taken = 0;
  /** The last restoration of a snapshot. It starts the book again, so `close` waits for it. */
  let restoring: Promise<void> | undefined;

  async function restore(id: string, snapshot: Snapshot): Promise<void> {
    await stop();
    await chain.revert(snapshot.chain, Math.floor(snapshot.now / 1000));
    // A node reverts to a snapshot once.
    snapshot.chain = await chain.snapshot();
    for (const later of snapshots.keys()) if (Number(later) > Number(id)) snapshots.delete(later);
    clock.set(snapshot.now);
    await books.restore(snapshot.books);
    await accounts.restore(snapshot.accounts);
    solver.wake();
    await start();
  }

  /** Stops the background solver for the duration of some work. */
  function withoutSolver(work: () => Promise<void>): Promise<void> {
    return inOrder(async () => {
      await solver.stop();
      try {
        await work();
      } finally {
        if (solving) solver.start();
      }
    });
  }

  const firstBlock = await start().catch(async (error: unknown) => {
    await stop();
    throw error;
  });

  // The book starts while the keys are loaded.
  ring = await keys;
  return {
    chain,
    /** The newest block when the sandbox was opened. */
    firstBlock,
    /** Number of the accounts that a saved sandbox has created. */
    savedTraders: saved?.traders ?? 0,
    tokens,
    book,
    accountInterface,
    solver,
    clock,
    faults,
    /** Errors that the book and the account interface have reported. */
    failures,
    token,
    synchronize,
    withoutSolver,

    /** Decides whether the solver runs in the background. */
    setSolving: (next: boolean): Promise<void> =>
      inOrder(async () => {
        solving = next && !isClosed;
        if (solving) solver.start();
        else await solver.stop();
      }),

    async snapshot(): Promise<string> {
      let id = '';
      await withoutSolver(async () => {
        taken++;
        id = String(taken);
        await synchronize();
        const state = { chain: await chain.snapshot(), now: clock.now() };
        snapshots.set(id, { ...state, books: books.position(), accounts: accounts.position() });
      });
      return id;
    },

    /** @throws RangeError if the snapshot is unknown. */
    revert: (id: string): Promise<void> =>
      inOrder(async () => {
        if (isClosed) throw new Error('the sandbox is closed');
        const snapshot = snapshots.get(id);
        if (snapshot === undefined) throw new RangeError(`snapshot must be one of this sandbox, got "${id}"`);
        restoring = restore(id, snapshot);
        await restoring;
      }),

    /** @param traders - Number of the accounts that were created. Absent: the state is not written. */
    async close(traders?: number): Promise<void> {
      isClosed = true;
      solving = false;
      faults.clear();
      await restoring?.catch(() => {});
      try {
        await stop();
        if (options.state !== undefined && traders !== undefined) {
          const stored = { books: books.operations(), accounts: accounts.operations() };
          const state = { settings, traders, now: clock.now(), chain: await chain.save(), ...stored };
          await writeState(options.state, state, version);
        }
      } finally {
        await chain.release();
      }
    },
  };
}

function usdPrices({ chainId, tokens, contracts }: SandboxChain) {
  const dollar = contracts.isFork ? tokens.find(({ symbol }) => symbol === 'USDC') : undefined;
  const native = dollar === undefined ? NATIVE_USD : 1 / Number(dollar.price);
  const prices = tokens.map(({ address, price }) => [address, Number(price) * native]);
  return fixedUsdPrices({ [chainId]: Object.fromEntries([...prices, [NATIVE_MARKER, native]]) });
}
