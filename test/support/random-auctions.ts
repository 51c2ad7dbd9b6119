import type { AuctionRound, Hex } from 'intentbook';
import { httpDriver } from 'intentbook/drivers';
import type { Sandbox } from 'intentbook/sandbox';
import { createSandbox } from 'intentbook/sandbox';
import { createDriver, createReferenceEngine, fundsReader, nodeSettler, uniswapV2Liquidity } from 'intentbook/solver';
import type { Address } from 'viem';
import { createPublicClient, encodeFunctionData, http, parseAbi } from 'viem';
import { getContracts, transact } from '../../apps/sandbox/deployment.ts';
import { createRpc } from '../../apps/sandbox/rpc.ts';
import type { ExternalDriver } from './external-driver/index.ts';
import { startExternalDriver } from './external-driver/index.ts';
import { serveFetch } from './fetch-server.ts';
import { createRandomOrders } from './random-orders.ts';

/** The account that allows solvers, and those that the external drivers settle with. */
const MANAGER = '0x6fb5916c0f57f88004d5b5eb25f6f4d77353a1ed';
const EXTERNAL: readonly Address[] = [
  '0x00000000000000000000000000000000e47e51ab',
  '0x00000000000000000000000000000000e47e51ac',
];

/** Orders that stay open, at most. Older ones are cancelled. */
const MAX_OPEN = 12;

/** Result of auctions with the reference driver and two external ones. */
export interface AuctionFigures {
  /** Auctions for which all drivers had a solution. */
  readonly auctions: number;
  /** Auctions with orders, including those without a solution of each driver. */
  readonly rounds: number;
  /** Settlements by driver. */
  readonly settled: Readonly<Record<string, number>>;
  /** Settlements that a driver gave up before it sent them. */
  readonly givenUp: number;
  readonly trades: number;
  /** Trades with a protocol fee. */
  readonly fees: number;
  readonly reverted: readonly Hex[];
  readonly violations: readonly string[];
  /** Problems of drivers, other than settlements that were given up. */
  readonly problems: readonly string[];
}

/** Runs tasks one after the other. */
function createSequence(): <T>(work: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const done = last.then(work, work);
    last = done;
    return done;
  };
}

type InOrder = ReturnType<typeof createSequence>;

function createClient(sandbox: Sandbox) {
  return createPublicClient({ transport: http(sandbox.rpcUrl), pollingInterval: 5 });
}

async function startReference(sandbox: Sandbox, inOrder: InOrder) {
  const { settlement, vaultRelayer, wrappedNative, uniswapFactory, solver } = getContracts(
    sandbox.chainId,
    sandbox.tokens,
  );
  const client = createClient(sandbox);
  const liquidity = uniswapV2Liquidity(client as never, {
    factory: uniswapFactory,
    receiver: settlement,
    bases: [wrappedNative],
  });
  const node = client as { request(args: { method: string; params?: unknown }): Promise<unknown> };
  const driver = createDriver({
    engine: createReferenceEngine({
      liquidity,
      wrappedNative,
      getFunds: fundsReader(node, vaultRelayer),
      buffer: 1n,
    }),
    settler: nodeSettler({
      client: node,
      wallet: {
        address: solver,
        sendTransaction: async (transaction) => {
          const params = [{ ...transaction, from: solver, gas: '0xb71b00' }];
          return (await node.request({ method: 'eth_sendTransaction', params })) as Hex; // a hash
        },
      },
    }),
  });
  return serveFetch((request) => {
    // A builder of blocks simulates and includes one settlement after the other.
    return request.url.endsWith('/settle') ? inOrder(() => driver.handle(request)) : driver.handle(request);
  });
}

async function startExternal(sandbox: Sandbox, inOrder: InOrder, solver: Address): Promise<ExternalDriver> {
  const contracts = getContracts(sandbox.chainId, sandbox.tokens);
  const client = createClient(sandbox);
  const abi = parseAbi(['function addSolver(address)']);
  const data = encodeFunctionData({ abi, functionName: 'addSolver', args: [solver] });
  const rpc = createRpc(sandbox.rpcUrl ?? '');
  await rpc.call('anvil_setBalance', solver, '0xffffffffffffffffffffff');
  await transact(rpc, { from: MANAGER, to: contracts.authenticator, data });
  return startExternalDriver({ ...contracts, client, factory: contracts.uniswapFactory, solver, inOrder });
}

/** Runs random auctions until all drivers had a solution for a number of them, or the time is over. */
export async function playAuctions(seed: number, wanted: number, isOver = () => false): Promise<AuctionFigures> {
  await using sandbox = await createSandbox({ solver: 'off' });
  const inOrder = createSequence();
  const reference = await startReference(sandbox, inOrder);
  const external: ExternalDriver[] = [];
  for (const solver of EXTERNAL) external.push(await startExternal(sandbox, inOrder, solver));
  const orders = await createRandomOrders(sandbox, seed);
  const settled: Record<string, number> = {};
  const problems: string[] = [];
  let [auctions, rounds, givenUp, pending] = [0, 0, 0, 0];
  let notify = () => {};
  const run = await sandbox.book.auctions.run({
    drivers: [
      httpDriver(reference.url, { name: 'reference' }),
      ...external.map(({ url }, i) => httpDriver(url, { name: `external ${i + 1}` })),
    ],
    interval: 20,
    submissionBlocks: 100,
    onRound({ solutions, problems: found }: AuctionRound) {
      rounds++;
      if (new Set(solutions.map(({ driver }) => driver)).size === 1 + EXTERNAL.length) auctions++;
      pending += solutions.filter(({ isWinner }) => isWinner).length;
      problems.push(...found.map(({ driver, step, reason }) => `${driver}: ${step}: ${reason}`));
      notify();
    },
    onSettled({ driver, reason }) {
      pending--;
      if (reason === undefined) settled[driver] = (settled[driver] ?? 0) + 1;
      else if (/FailedToSubmit/.test(reason)) givenUp++;
      else problems.push(`${driver}: settle: ${reason}`);
      notify();
    },
  });
  const open: Hex[] = [];
  try {
    while (auctions < wanted && !isOver()) {
      const before = rounds;
      const placed = await Promise.all(Array.from({ length: 1 + Math.floor(orders.random() * 5) }, orders.place));
      open.push(...placed);
      run.wake();
      // `onSettled` may come before `onRound`.
      while (rounds === before || pending !== 0) await new Promise<void>((resolve) => (notify = resolve));
      if (open.length > MAX_OPEN) {
        const stale = open.splice(0, open.length - MAX_OPEN);
        // Most of them are fulfilled.
        await Promise.allSettled(stale.map((uid) => orders.cancel(uid)));
      }
      if (orders.random() < 0.1) await inOrder(() => orders.movePrices());
    }
  } finally {
    await run.stop();
    await Promise.all([reference, ...external].map((each) => each.close()));
  }
  await sandbox.synchronize();
  if (sandbox.failures.length > 0) throw new AggregateError(sandbox.failures, 'the book has reported failures');
  return { auctions, rounds, settled, givenUp, problems, ...(await orders.check()) };
}
