import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AccountStore, AuctionRound, Clock, Hex, Order, OrderBook, Store } from 'intentbook';
import { createOrderBook } from 'intentbook';
import type { Accounts } from 'intentbook/accounts';
import { createAccounts } from 'intentbook/accounts';
import { memoryAccountStore, memoryStore } from 'intentbook/memory';
import { backupSqlite, sqliteStore } from 'intentbook/sqlite';
import { chainById, deployment } from '#internal';
import { createSeededRandom } from '../machine/random.ts';
import { createTrace } from '../machine/trace.ts';
import { loadRecovery } from '../orders/keys.ts';
import { CHAIN_ID } from '../orders/pool-order.ts';
import type { NodeMode } from './contract.ts';
import { createContract, NODE_MODES } from './contract.ts';
import type { ForeignSolver, Offer } from './drivers.ts';
import { BEHAVIOURS, createSolver } from './drivers.ts';
import { createEventClock } from './event-clock.ts';

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

/** A request of a settlement, until it can no longer be executed. */
interface Request {
  readonly auctionId: number;
  readonly offer: Offer;
  readonly solver: ForeignSolver;
  readonly deadline: number;
  /** Whether its driver has reported that no transaction is pending. */
  isFailed: boolean;
}

/** A book with the settlements that it has requested since its store was created. */
interface BookState {
  readonly name: string;
  store: Store;
  /** The file of the store. `undefined`: it is in memory. */
  path: string | undefined;
  book: OrderBook;
  /** Number of stores. The settlements of an earlier one are those of another book. */
  generation: number;
  requests: Request[];
  rounds: AuctionRound[];
  /** How the second node returns logs. */
  mode: NodeMode;
  /** Whether the first node does so too: nodes of one release have the same faults. */
  isShared: boolean;
  accounts: Accounts;
  accountStore: AccountStore;
  backup: Backup | undefined;
}

/** A backup of the store of a book, and what had happened until then. */
interface Backup {
  readonly path: string;
  readonly requests: readonly Request[];
  readonly rounds: readonly AuctionRound[];
  readonly orders: ReadonlySet<Hex>;
}

const SUBMISSION_BLOCKS = 4;
/** Blocks that a node can claim to have within the seconds that the book may be behind. */
const MAX_AHEAD = 610;
const BAN_AFTER = 2;
/** Blocks after which the second reads of the indexer have corrected every node. */
const LAST_BLOCKS = 24;
const START = 1_700_000_000_000;

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
  let [transactions, requested, forks, lastFork] = [0, 0, 0, 0];
  const report = (invariant: string, details: string) => {
    violation ??= { invariant, details, time: clock.now() - START };
  };
  const nextHash = (): Hex => `0x7a${(++transactions).toString(16).padStart(62, '0')}`;
  const solvers = Array.from({ length: random.integer(2, 5) }, (_, i) =>
    createSolver(`solver ${i}`, addressOf(0x5000 + i), random.pick(BEHAVIOURS), {
      random: random.derive(`solver ${i}`),
      contract,
      nextHash,
    }),
  );
  // Equal numbers of auctions are the rule for books that begin with the same one.
  const firstId = random.chance(0.7) ? { firstId: 1 } : {};
  /** The orders of each book, by UID. */
  const owners = new Map<Hex, string>();
  const books: BookState[] = [];

  const folder = random.derive('backups').chance(0.25)
    ? mkdtempSync(join(tmpdir(), 'intentbook-auctions-'))
    : undefined;
  let files = 0;

  /** Creates a store, or opens one on a copy of a backup. */
  async function createStore(backup?: Backup): Promise<Pick<BookState, 'store' | 'path'>> {
    if (folder === undefined) return { store: memoryStore(), path: undefined };
    const path = join(folder, `${++files}.sqlite`);
    if (backup !== undefined) await backupSqlite({ from: backup.path, to: path });
    return { store: sqliteStore({ path, synchronous: 'OFF' }), path };
  }

  async function open(
    state: Omit<BookState, 'book' | 'accounts'>,
    at: Clock,
  ): Promise<Pick<BookState, 'book' | 'accounts'>> {
    const book = createOrderBook({
      chainId: CHAIN_ID,
      store: state.store,
      clock: at,
      recovery,
      eip1271: 'accept-unverified',
      expiryInterval: 'off',
      auctions: { minValidity: 0, ...firstId },
      quotes: { gasPrice: '0', estimators: [{ name: 'test', nativePrice: () => '1', estimate: () => undefined }] },
      indexer: {
        sources: [
          contract.createNode('first', () => (state.mode === 'failing' || state.isShared ? state.mode : 'same')),
          contract.createNode('second', () => state.mode),
        ],
        pollInterval: 500,
        fromBlock: 101,
        reorgLimit: 16,
      },
    });
    await book.start();
    const accounts = createAccounts({ books: [book], store: state.accountStore, clock: at, recovery });
    await accounts.start();
    return { book, accounts };
  }

  async function close({ book, accounts }: BookState): Promise<void> {
    await accounts.close();
    await book.close();
  }

  function isSettled(state: BookState, { auctionId, offer }: Request, block: number): boolean {
    return contract
      .listSettled(block)
      .some(({ settlement }) => isOf(state, settlement.book) && isSame(settlement, auctionId, offer));
  }

  const isOf = ({ name, generation }: BookState, book: string) => book === `${name} ${generation}`;
  const isSame = (
    settlement: { auctionId: number; solutionId: number; fills: Offer['fills'] },
    id: number,
    { solutionId, fills }: Offer,
  ) =>
    settlement.auctionId === id &&
    settlement.solutionId === solutionId &&
    fills.every(({ sold }, i) => settlement.fills[i]?.sold === sold);

  async function run(state: BookState): Promise<void> {
    const name = `${state.name} ${state.generation}`;
    const drivers = solvers.map((solver) =>
      solver.connect(name, {
        onSolve({ auction }) {
          // After a fork, an auction may be that of the blocks before it.
          if (contract.head.number - lastFork < 6) return;
          for (const request of state.requests) {
            if (request.isFailed || request.deadline <= auction.block || isSettled(state, request, auction.block))
              continue;
            const again = request.offer.fills.find(({ order }) => auction.orders.some(({ uid }) => uid === order.uid));
            if (again !== undefined)
              report(
                'offers',
                `${name} offers order ${again.order.uid} in block ${auction.block}, in flight until ${request.deadline}`,
              );
          }
        },
        onSettle({ auctionId, submissionDeadlineLatestBlock: deadline }, offer) {
          requested++;
          trace.add(`${name} settles ${auctionId} ${offer.solutionId} with ${solver.name} until ${deadline}`);
          if (deadline > contract.head.number + SUBMISSION_BLOCKS + MAX_AHEAD)
            report('deadlines', `${name} requests a settlement until ${deadline}, the head is ${contract.head.number}`);
          if (deadline < contract.head.number)
            report('deadlines', `${name} requests a settlement until ${deadline}, the head is ${contract.head.number}`);
          state.requests.push({ auctionId, offer, solver, deadline, isFailed: false });
        },
        onFailed(offer) {
          for (const each of state.requests) if (each.offer === offer) each.isFailed = true;
        },
        onBan() {
          trace.add(`${name} bans ${solver.name}`);
          if (solver.behaviour === 'honest' && !solver.hasReverted)
            report('bans', `${name} excludes the honest ${solver.name}`);
        },
      }),
    );
    await state.book.auctions.run({
      drivers,
      reveal: false,
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
    const state = {
      name,
      ...(await createStore()),
      accountStore: memoryAccountStore(),
      generation: 0,
      requests: [],
      rounds: [],
      mode: 'same' as NodeMode,
      isShared: false,
      backup: undefined,
    };
    const opened: BookState = Object.assign(state, await open(state, clock));
    books.push(opened);
    await run(opened);
  }

  async function submit(state: BookState): Promise<void> {
    const n = owners.size;
    const [sellToken, buyToken] = [addressOf(0x1000 + (n % 4)), addressOf(0x2000 + random.integer(0, 3))];
    const result = await state.book.orders.submit({
      sellToken,
      buyToken,
      receiver: null,
      sellAmount: String(1000 + n),
      buyAmount: '1000',
      validTo: Math.floor(START / 1000) + 3000,
      appData: '{}',
      feeAmount: '0',
      kind: 'sell',
      partiallyFillable: random.chance(0.5),
      from: addressOf(0x9000 + n),
      signingScheme: 'eip1271',
      signature: '0xabcd',
    });
    if (result.status === 'accepted') owners.set(result.uid, `${state.name} ${state.generation}`);
    else report('admission', result.error.message);
  }

  /** Closes a book and opens it again: on its store, on an empty one, or on a backup. */
  async function restart(state: BookState, on: 'same' | 'empty' | 'backup'): Promise<void> {
    const closing = close(state);
    await clock.pass(100);
    await closing;
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
      for (const [uid, owner] of owners) if (owner === label && !orders.has(uid)) owners.set(uid, `${label} lost`);
    } else if (state.path !== undefined) state.store = sqliteStore({ path: state.path, synchronous: 'OFF' });
    Object.assign(state, await open(state, clock));
    await run(state);
    trace.add(`restart ${state.name} ${state.generation} ${on}`);
  }

  async function backUp(state: BookState): Promise<void> {
    if (state.path === undefined || folder === undefined) return;
    const path = join(folder, `backup-${++files}.sqlite`);
    await backupSqlite({ from: state.path, to: path });
    const label = `${state.name} ${state.generation}`;
    const orders = new Set([...owners].flatMap(([uid, owner]) => (owner === label ? [uid] : [])));
    state.backup = { path, requests: [...state.requests], rounds: [...state.rounds], orders };
    trace.add(`backup ${label}`);
  }

  for (let step = random.integer(40, 70); step > 0 && violation === undefined; step--) {
    const state = random.pick(books);
    const dice = random.fraction();
    if (dice < 0.25) await submit(state);
    else if (dice < 0.6) contract.mine(0.7);
    else if (dice < 0.66) {
      contract.fork(random.integer(1, 3));
      forks++;
      lastFork = contract.head.number;
    } else if (dice < 0.76) {
      state.mode = random.pick(NODE_MODES);
      // Two logs at one index contradict each other: nothing is read from either node until one is repaired.
      state.isShared = state.mode === 'collided' && random.chance(0.5);
    } else if (dice < 0.79) await restart(state, random.chance(0.4) ? 'empty' : 'same');
    else if (dice < 0.83) await backUp(state);
    else if (dice < 0.85 && state.backup !== undefined) await restart(state, 'backup');
    trace.add(`step ${contract.head.hash}`);
    await clock.pass(random.integer(100, 1500));
  }
  for (const state of books) Object.assign(state, { mode: 'same', isShared: false });
  for (let left = LAST_BLOCKS; left > 0 && violation === undefined; left--) {
    contract.mine(1);
    await clock.pass(1500);
  }
  await clock.pass(10_000);
  for (const state of books) await check(state);
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

  /** Compares a book at rest with the chain. */
  async function check(state: BookState): Promise<void> {
    const name = `${state.name} ${state.generation}`;
    const { indexedBlock } = await state.book.chain.progress();
    if (indexedBlock?.hash !== contract.head.hash)
      return report('liveness', `${name} is at block ${indexedBlock?.number}, the head is ${contract.head.number}`);
    const settled = contract.listSettled();
    for (const [uid, owner] of owners) {
      const order = await state.book.orders.get(uid);
      if (owner === name) checkTotals(uid, order, settled);
      else await checkForeign(uid, order, settled);
    }
    for (const { auctionId, solutions, deadlineBlock } of state.rounds) {
      if (solutions.length === 0) continue;
      const competition = await state.book.auctions.competition(auctionId);
      const own = settled.filter(({ number, settlement }) => {
        const request = state.requests.find(
          (each) =>
            each.auctionId === auctionId &&
            isSame(settlement, auctionId, each.offer) &&
            settlement.solver === each.solver.solver,
        );
        return isOf(state, settlement.book) && request !== undefined && number <= deadlineBlock + 100;
      });
      const [got, expected] = [
        [...(competition?.transactionHashes ?? [])].sort().join(),
        own
          .map(({ settlement }) => settlement.hash)
          .sort()
          .join(),
      ];
      if (got !== expected)
        report('competitions', `${name}: auction ${auctionId} has the settlements ${got}, expected ${expected}`);
    }

    function checkTotals(uid: Hex, order: Order | undefined, all: typeof settled): void {
      const fills = all.flatMap(({ settlement }) => settlement.fills).filter((fill) => fill.order.uid === uid);
      const sold = fills.reduce((sum, fill) => sum + fill.sold, 0n);
      if (order?.executedSellAmount !== String(sold))
        report('totals', `${name}: order ${uid} has sold ${order?.executedSellAmount}, expected ${sold}`);
    }

    async function checkForeign(uid: Hex, order: Order | undefined, all: typeof settled): Promise<void> {
      // A settlement with an order of the book adds its other orders.
      const isShared = all.some(({ settlement: { fills } }) => {
        const uids = fills.map((fill) => fill.order.uid);
        return uids.includes(uid) && uids.some((each) => owners.get(each) === name);
      });
      if (isShared) return;
      if (order !== undefined) report('foreign orders', `${name} has the order ${uid} of ${owners.get(uid)}`);
      const owner: Hex = `0x${uid.slice(66, 106)}`;
      const { notifications } = await state.accounts.notifications.list(owner);
      if (notifications.length > 0 && owners.get(uid) !== `${name} lost`)
        report('foreign notifications', `${name} has notified the owner of order ${uid} of ${owners.get(uid)}`);
      const surplus = await state.book.trades.totalSurplus(owner);
      if (surplus !== 0n) report('foreign surplus', `${name}: the owner of order ${uid} has the surplus ${surplus}`);
    }
  }
}
