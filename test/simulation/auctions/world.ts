import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AuctionRun, Clock, Hex, OrderBook, OrderBookOptions } from 'intentbook';
import { createOrderBook } from 'intentbook';
import { createAccounts } from 'intentbook/accounts';
import { memoryAccountStore, memoryStore } from 'intentbook/memory';
import { backupSqlite, sqliteStore } from 'intentbook/sqlite';
import { chainById, deployment } from '#internal';
import { createSeededRandom } from '../machine/random.ts';
import { createTrace } from '../machine/trace.ts';
import { loadRecovery } from '../orders/keys.ts';
import { CHAIN_ID } from '../orders/pool-order.ts';
import { type Backup, type BookState, isSame, type Request } from './book-state.ts';
import { createContract, NODE_MODES } from './contract.ts';
import { BEHAVIOURS, createSolver } from './drivers.ts';
import { createEventClock } from './event-clock.ts';
import { createJustInTimeOrders } from './just-in-time.ts';
import { checkAtRest } from './rest-check.ts';

/** The result of a simulation of auctions. */
export interface AuctionSimulation {
  readonly violation?: { readonly invariant: string; readonly details: string; readonly time: number };
  readonly hash: string;
  readonly lines: readonly string[];
  /** Number of settlements that books have requested, and of those that were executed. */
  readonly operations: number;
  readonly commits: number;
  readonly forks: number;
  /** Virtual milliseconds. */
  readonly duration: number;
}

const SUBMISSION_BLOCKS = 4;
/** Blocks that a node can claim to have within the seconds that the book may be behind. */
const MAX_AHEAD = 610;
const BAN_AFTER = 2;
/** Blocks after which the second reads of the indexer have corrected every node. */
const LAST_BLOCKS = 24;
/** The same if a node has deleted logs: its ranges become shorter first. */
const LAST_BLOCKS_DELETED = 90;
const START = 1_700_000_000_000;

/** Milliseconds after which a node that stands still is noticed. */
const MAX_AGE = 900_000;

const describe = ({ deadline, solver }: Request) => `in flight until ${deadline} by ${solver.name}`;

const addressOf = (n: number): Hex => `0x${n.toString(16).padStart(40, '0')}`;

/**
 * Simulates two books on one settlement contract, with solvers that serve both and do not behave as they should,
 * nodes that contradict each other, restarts, lost stores and forks. Checks at each step that no order is requested
 * twice, and at rest that each book has its own settlements only.
 */
export async function simulateAuctions(seed: string, keepsTrace: boolean): Promise<AuctionSimulation> {
  const random = createSeededRandom(`auctions ${seed}`);
  const clock = createEventClock(START);
  const trace = createTrace(() => clock.now() - START, keepsTrace);
  const recovery = await loadRecovery();
  const settlementContract = deployment('production', chainById(CHAIN_ID)).settlement;
  const contract = createContract(random.derive('contract'), settlementContract, () => Math.floor(clock.now() / 1000));
  let violation: AuctionSimulation['violation'];
  let [transactions, requested, forks, lastFork, stoppedAt] = [0, 0, 0, 0, 0];
  const report = (invariant: string, details: string) => {
    violation ??= { invariant, details, time: clock.now() - START };
  };
  const nextHash = (): Hex => `0x7a${(++transactions).toString(16).padStart(62, '0')}`;
  const [hasTwins, reveals, isMulti] = [random.chance(0.4), random.chance(0.5), random.chance(0.5)];
  const reorgLimit = random.pick([16, 64]);
  const ofDeleting = random.derive('deleted logs');
  /** Which nodes delete logs: the correct one, or both. The other one is then the only one that can be behind. */
  const deleting = ofDeleting.chance(0.1) ? ofDeleting.pick(['one', 'both']) : 'none';
  // More than are mined during the last restart, and than may wait for their second read before it.
  const keptBlocks = reorgLimit + ofDeleting.integer(16, 28);
  const justInTime = createJustInTimeOrders(settlementContract, Math.floor(START / 1000) + 3000);
  const indirectSolver = random.derive('indirect').chance(0.2) ? addressOf(0x5000) : undefined;
  const solvers = Array.from({ length: random.integer(2, 5) }, (_, i) =>
    createSolver(`solver ${i}`, addressOf(0x5000 + i), random.pick(BEHAVIOURS), {
      random: random.derive(`solver ${i}`),
      contract,
      nextHash,
      isMulti,
      isIndirect: addressOf(0x5000 + i) === indirectSolver,
      createJustInTime: justInTime.create,
    }),
  );
  // Equal numbers of auctions are the rule for books that begin with the same one.
  const firstId = random.chance(0.7) ? { firstId: 1 } : {};
  /** The books of each order, by UID. */
  const owners = new Map<Hex, Set<string>>();
  const books: BookState[] = [];

  const folder = random.derive('backups').chance(0.25)
    ? mkdtempSync(join(tmpdir(), 'intentbook-auctions-'))
    : undefined;
  let files = 0;

  /** Creates a store, or opens one on a copy of a backup. */
  async function createStore(backup?: Backup): Promise<Pick<BookState, 'store' | 'path'>> {
    if (folder === undefined) {
      const store = memoryStore();
      const traits = { ...store.traits, writers: hasTwins ? ('many' as const) : ('single' as const) };
      return { store: { ...store, traits }, path: undefined };
    }
    const path = join(folder, `${++files}.sqlite`);
    if (backup !== undefined) await backupSqlite({ from: backup.path, to: path });
    return { store: sqliteStore({ path, synchronous: 'OFF', writeThread: false }), path };
  }

  async function open(
    state: Omit<BookState, 'book' | 'twin' | 'accounts'>,
    at: Clock,
  ): Promise<Pick<BookState, 'book' | 'twin' | 'accounts'>> {
    const options: OrderBookOptions = {
      chainId: CHAIN_ID,
      store: state.store,
      clock: at,
      recovery,
      eip1271: 'accept-unverified',
      expiryInterval: 'off',
      auctions: { minValidity: 0, ...firstId },
      quotes: { gasPrice: '0', estimators: [{ name: 'test', nativePrice: () => '1', estimate: () => undefined }] },
      indexer: {
        sources: ['first', 'second'].map((name, i) => {
          const isBoth = () => state.mode === 'failing' || state.mode === 'stopped' || state.isShared;
          return contract.createNode(name, {
            getMode: () => (i === state.faulty || isBoth() ? state.mode : 'same'),
            keptBlocks: deleting === 'both' || (deleting === 'one' && i !== state.faulty) ? keptBlocks : Infinity,
            indirectSolver,
            onRead: (block) => state.readBlocks[i]?.add(block),
          });
        }),
        pollInterval: 500,
        fromBlock: 101,
        reorgLimit,
      },
    };
    const book = createOrderBook(options);
    await book.start();
    const shared = new Proxy(state.store, {
      get: (target, name) => (name === 'open' || name === 'close' ? async () => {} : Reflect.get(target, name)),
    });
    const twin =
      hasTwins && state.path === undefined ? createOrderBook({ ...options, store: shared, clock: at }) : undefined;
    await twin?.start();
    const accounts = createAccounts({ books: [book], store: state.accountStore, clock: at, recovery });
    await accounts.start();
    return { book, twin, accounts };
  }

  async function close({ book, twin, accounts }: BookState): Promise<void> {
    await accounts.close();
    await Promise.all([twin?.close(), book.close()]);
  }

  /** Two books may request the same settlement of a shared order under the same number, by the same solver. */
  function isSettled({ auctionId, offer, solver }: Request, block: number): boolean {
    return contract
      .listSettled(block)
      .some(({ settlement }) => settlement.solver === solver.solver && isSame(settlement, auctionId, offer));
  }

  /** Returns whether an auction may be that of the blocks before a fork. */
  const isAfterFork = () => contract.head.number - lastFork < 6;

  /** Returns a request whose solution has an order that is in flight at a block. */
  function findInFlight(state: BookState, uids: readonly Hex[], block: number, except?: number): Request | undefined {
    if (isAfterFork()) return undefined;
    return state.requests.find((request) => {
      if (request.auctionId === except || request.isFailed || request.deadline <= block) return false;
      if (!request.offer.fills.some(({ order }) => uids.includes(order.uid))) return false;
      return !isSettled(request, block);
    });
  }

  /** Runs auctions in the first process, or in its twin. */
  async function run(state: BookState, book: OrderBook | undefined = state.book): Promise<AuctionRun | undefined> {
    const name = `${state.name} ${state.generation}`;
    const drivers = solvers.map((solver) =>
      solver.connect(name, {
        onSolve({ auction: { id, block, orders } }) {
          // Blocks may be mined before the settlement, which ends the time after a fork.
          if (!isAfterFork()) state.blocks.set(id, block);
          else state.blocks.delete(id); // a lost store may have had another auction with this number
          const uids = orders.map(({ uid }) => uid);
          const request = findInFlight(state, uids, block);
          if (request !== undefined)
            report('offers', `${name} offers orders of ${request.auctionId} in block ${block}, ${describe(request)}`);
        },
        onSettle({ auctionId, submissionDeadlineLatestBlock: deadline }, offer) {
          requested++;
          trace.add(`${name} settles ${auctionId} ${offer.solutionId} with ${solver.name} until ${deadline}`);
          const uids = offer.fills.map(({ order }) => order.uid);
          const again = findInFlight(state, uids, state.blocks.get(auctionId) ?? Infinity, auctionId);
          if (again !== undefined)
            report('requests', `${name} settles orders of ${again.auctionId} in ${auctionId}, ${describe(again)}`);
          // A head of the last minutes cannot be distinguished from a chain without blocks.
          if (state.mode === 'stopped' && clock.now() - stoppedAt < MAX_AGE) return;
          if (deadline > contract.head.number + SUBMISSION_BLOCKS + MAX_AHEAD)
            report('deadlines', `${name} requests a settlement until ${deadline}, the head is ${contract.head.number}`);
          if (deadline < contract.head.number)
            report('deadlines', `${name} requests a settlement until ${deadline}, the head is ${contract.head.number}`);
          state.requests.push({ auctionId, offer, solver, deadline, transactions, isFailed: false });
        },
        onFailed(offer) {
          for (const each of state.requests) if (each.offer === offer) each.isFailed = true;
        },
        onBan() {
          trace.add(`${name} bans ${solver.name}`);
          if (solver.behaviour === 'honest') report('bans', `${name} excludes the honest ${solver.name}`);
        },
      }),
    );
    return book?.auctions.run({
      drivers,
      reveal: reveals,
      revealTime: 5000,
      solveTime: 400,
      settleTime: 30_000,
      submissionBlocks: SUBMISSION_BLOCKS,
      banAfter: BAN_AFTER,
      banTime: 20_000,
      onRound(round) {
        state.rounds.push(round);
        for (const { isWinner, score } of round.solutions)
          if (isWinner && score <= 0n)
            report('winners', `${name}: a solution with the score ${score} wins auction ${round.auctionId}`);
      },
    });
  }

  for (const name of ['staging', 'production']) {
    const state: Omit<BookState, 'book' | 'twin' | 'accounts'> = {
      name,
      ...(await createStore()),
      accountStore: memoryAccountStore(),
      generation: 0,
      requests: [],
      rounds: [],
      mode: 'same',
      faulty: random.integer(0, 1),
      isShared: false,
      readBlocks: [new Set(), new Set()],
      auctionRun: undefined,
      blocks: new Map(),
      backup: undefined,
    };
    const opened: BookState = Object.assign(state, await open(state, clock));
    books.push(opened);
    await runBoth(opened);
  }

  /** Runs auctions in both processes: one of them has the lease. */
  async function runBoth(state: BookState): Promise<void> {
    state.auctionRun = await run(state);
    await run(state, state.twin);
  }

  /** Ends the auctions of the first process for a while. */
  async function handOver(state: BookState): Promise<void> {
    const stopping = state.auctionRun?.stop();
    await clock.pass(random.integer(1, 8) * 1000);
    await stopping;
    state.auctionRun = await run(state);
    trace.add(`hand over ${state.name}`);
  }

  /** Lets the nodes of a book stand still while the chain continues. */
  async function freeze(state: BookState): Promise<void> {
    contract.freeze();
    stoppedAt = clock.now();
    state.mode = 'stopped';
    while (clock.now() - stoppedAt < MAX_AGE + 60_000) {
      contract.mine(0.7);
      await clock.leap(30_000);
    }
    await submit(state);
    await clock.pass(5000);
    trace.add(`froze ${state.name}`);
    state.mode = 'same';
  }

  async function submit(state: BookState): Promise<void> {
    const n = owners.size;
    const [sellToken, buyToken] = [addressOf(0x1000 + (n % 4)), addressOf(0x2000 + random.integer(0, 3))];
    const isShared = random.chance(0.15);
    const order = {
      sellToken,
      buyToken,
      receiver: null,
      sellAmount: String(1000 + n),
      buyAmount: '1000',
      validTo: Math.floor(START / 1000) + 6000,
      appData: '{}',
      feeAmount: '0',
      kind: 'sell' as const,
      partiallyFillable: random.chance(0.5),
      from: addressOf(0x9000 + n),
      signingScheme: 'eip1271' as const,
      signature: '0xabcd' as const,
    };
    const result = await state.book.orders.submit(order);
    if (result.status !== 'accepted') return report('admission', result.error.message);
    owners.set(result.uid, new Set([`${state.name} ${state.generation}`]));
    if (!isShared) return;
    const other = books.find((each) => each !== state);
    if ((await other?.book.orders.submit(order))?.status === 'accepted')
      owners.get(result.uid)?.add(`${other?.name} ${other?.generation}`);
  }

  /** Closes a book and opens it again: on its store, on an empty one, or on a backup. */
  async function restart(state: BookState, on: 'same' | 'empty' | 'backup', missedBlocks = 0): Promise<void> {
    const closing = close(state);
    await clock.pass(100);
    await closing;
    for (let left = missedBlocks; left > 0; left--) contract.mine(0.7);
    if (on === 'empty') {
      const generation = state.generation + 1;
      const accountStore = memoryAccountStore();
      Object.assign(state, await createStore(), {
        accountStore,
        generation,
        requests: [],
        rounds: [],
        backup: undefined,
      });
    } else if (on === 'backup' && state.backup !== undefined) {
      const { requests, rounds, orders } = state.backup;
      Object.assign(state, await createStore(state.backup), { requests: [...requests], rounds: [...rounds] });
      const label = `${state.name} ${state.generation}`;
      for (const [uid, names] of owners)
        if (names.has(label) && !orders.has(uid)) names.add(`${label} lost`).delete(label);
    } else if (state.path !== undefined)
      state.store = sqliteStore({ path: state.path, synchronous: 'OFF', writeThread: false });
    Object.assign(state, await open(state, clock));
    await runBoth(state);
    trace.add(`restart ${state.name} ${state.generation} ${on}`);
  }

  async function backUp(state: BookState): Promise<void> {
    if (state.path === undefined || folder === undefined) return;
    const path = join(folder, `backup-${++files}.sqlite`);
    await backupSqlite({ from: state.path, to: path });
    const label = `${state.name} ${state.generation}`;
    const orders = new Set([...owners].flatMap(([uid, names]) => (names.has(label) ? [uid] : [])));
    state.backup = { path, requests: [...state.requests], rounds: [...state.rounds], orders };
    trace.add(`backup ${label}`);
  }

  const frozenStep = random.chance(0.1) ? random.integer(5, 35) : 0;
  for (let step = random.integer(40, 70); step > 0 && violation === undefined; step--) {
    const state = random.pick(books);
    const dice = random.fraction();
    if (dice < 0.25) await submit(state);
    else if (dice < 0.6) contract.mine(0.7);
    else if (dice < 0.66 && indirectSolver === undefined) {
      // A settlement may move to a block before its auction, where only calldata shows that it is not an earlier one.
      contract.fork(random.integer(1, 3));
      forks++;
      lastFork = contract.head.number;
    } else if (dice < 0.76 && deleting !== 'both') {
      state.mode = random.pick(NODE_MODES);
      // A contradiction shows that the node is wrong: nothing is read from either node until one is repaired.
      state.isShared = ['collided', 'doubled', 'shifted', 'late'].includes(state.mode) && random.chance(0.5);
    } else if (dice < 0.77 && hasTwins) await handOver(state);
    else if (dice < 0.79) await restart(state, random.chance(0.4) && deleting !== 'both' ? 'empty' : 'same');
    else if (dice < 0.83) await backUp(state);
    else if (dice < 0.85 && state.backup !== undefined && deleting !== 'both') await restart(state, 'backup');
    else if (dice >= 0.85 && dice < 0.95) await checkStatus(state);
    if (step === frozenStep && deleting !== 'both') await freeze(state);
    trace.add(`step ${contract.head.hash} ${state.name} ${state.mode}`);
    await clock.pass(random.integer(100, 1500));
  }
  for (const state of books) Object.assign(state, { mode: 'same', isShared: false });
  if (deleting !== 'none') await restart(ofDeleting.pick(books), 'same', reorgLimit + 2);
  for (
    let left = deleting === 'none' ? LAST_BLOCKS : LAST_BLOCKS_DELETED;
    left > 0 && violation === undefined;
    left--
  ) {
    contract.mine(1);
    await clock.pass(1500);
  }
  await clock.pass(10_000);
  for (const state of books)
    await checkAtRest(state, { contract, owners, justInTime: justInTime.uids, indirectSolver, report });
  const closing = Promise.all(books.map(close));
  await clock.pass(100);
  await closing;
  if (folder !== undefined) rmSync(folder, { recursive: true });
  return {
    ...(violation === undefined ? {} : { violation }),
    hash: trace.hash,
    lines: trace.lines,
    operations: requested,
    commits: contract.listSettled().length,
    forks,
    duration: clock.now() - START,
  };

  /** Compares the status of an order with the auction. */
  async function checkStatus({ name, generation, book }: BookState): Promise<void> {
    const own = [...owners].flatMap(([uid, names]) => (names.has(`${name} ${generation}`) ? [uid] : []));
    if (own.length === 0) return;
    const uid = random.pick(own);
    // The run may record a competition between two reads.
    const before = await book.orders.competitionStatus(uid);
    const { orders } = await book.auctions.current();
    const { type } = await book.orders.competitionStatus(uid);
    if (before.type === type && type === 'executing' && orders.some((order) => order.uid === uid))
      report('status', `${name}: order ${uid} is offered, and its status is ${type}`);
  }
}
