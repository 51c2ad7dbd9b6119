import type { Hex, Store } from 'intentbook';
import { chainById, deployment } from '#internal';
import { simulateAccounts } from './accounts/world.ts';
import { simulateAuctions } from './auctions/world.ts';
import { createSimulatedChain, drawTimeDifference } from './chain/chain.ts';
import { createCompetitions } from './chain/competitions.ts';
import { drawSettlementMode } from './chain/settlements.ts';
import { createAuctionCheck } from './checks/auction-check.ts';
import { createDeliveryChecks } from './checks/delivery-checks.ts';
import { checkExpiries } from './checks/expiry-check.ts';
import { Model } from './checks/model.ts';
import { createQuoteCheck } from './checks/quote-check.ts';
import { createReadCheck } from './checks/read-check.ts';
import { createStatisticsCheck } from './checks/statistics-check.ts';
import type { Report, StoreObserver } from './checks/store-observer.ts';
import { createStoreObserver } from './checks/store-observer.ts';
import { createTransactionCheck } from './checks/transaction-check.ts';
import { createAccountSubscriber } from './clients/account-subscriber.ts';
import { createAuctionSubscriber } from './clients/auction-subscriber.ts';
import { createClients } from './clients/clients.ts';
import { createHttpClient } from './clients/http-client.ts';
import { createSubscriber } from './clients/subscribers.ts';
import { simulateReceivers } from './fairness/receivers.ts';
import { simulateFairness } from './fairness/world.ts';
import { createMachine } from './machine/machine.ts';
import { START } from './machine/process.ts';
import { createSeededRandom } from './machine/random.ts';
import { createScheduler } from './machine/scheduler.ts';
import { createTrace } from './machine/trace.ts';
import { warmUp } from './machine/warm-up.ts';
import { loadRecovery } from './orders/keys.ts';
import { loadPool } from './orders/pool.ts';
import { CHAIN_ID } from './orders/pool-order.ts';
import { createPerformer } from './plan/performer.ts';
import type { Action, Scenario } from './plan/plan.ts';
import { createPlan } from './plan/plan.ts';
import { drawRetentionAges } from './plan/retention-ages.ts';
import { createBalances } from './ports/funds-port.ts';
import type { StorageName } from './storages/storages.ts';
import { createStorage } from './storages/storages.ts';
import { simulateUpstream } from './upstream/world.ts';

/** Options of a simulation. */
export interface SimulateOptions {
  /** Decides everything that happens. Equal seeds give equal traces. */
  readonly seed: number | string;
  /**
   * The storage, or one of the other simulations of docs/internals/simulation.md: `auctions`, `accounts`, `upstream`,
   * `fairness` or `receivers`. Default: `memory`.
   */
  readonly store?: SimulationName;
  /** How much happens. */
  readonly scenario?: Scenario;
  /** The actions of the plan to run, by id. Default: all. */
  readonly only?: readonly number[];
  /** Whether to return the lines of the trace. Default: false. */
  readonly trace?: boolean;
}

/** The name of a storage, or of the simulation of a feature. */
export type SimulationName = StorageName | keyof typeof WORLDS;

/** Simulations of their own worlds. */
const WORLDS = {
  auctions: simulateAuctions,
  accounts: simulateAccounts,
  upstream: simulateUpstream,
  fairness: simulateFairness,
  receivers: simulateReceivers,
};

/** A broken invariant. */
export interface Violation {
  readonly invariant: string;
  readonly details: string;
  /** Virtual milliseconds since the start. */
  readonly time: number;
}

/** The result of a simulation. */
export interface SimulationResult {
  readonly seed: string;
  readonly store: SimulationName;
  /** Identifies everything that has happened. */
  readonly hash: string;
  readonly violation?: Violation;
  /** The plan that was run. */
  readonly plan: readonly Action[];
  /** Number of operations that clients have ended. */
  readonly operations: number;
  /** Number of faults of the plan, and of single calls that they have affected. */
  readonly faults: number;
  readonly affectedCalls: number;
  readonly forks: number;
  readonly commits: number;
  /** Virtual milliseconds. */
  readonly duration: number;
  readonly lines: readonly string[];
}

type StorageOptions = SimulateOptions & { readonly store: StorageName };

/** Virtual milliseconds in which a system without faults must come to rest, and between two looks at it. */
const LIVENESS_TIME = 240_000;
const LIVENESS_STEP = 8_000;

/** Atoms that each owner has at the start: enough for every order. */
const BALANCE = 1_000_000n;

/**
 * Blocks that are mined after the faults have ended, so that the indexer reads older blocks a second time. The larger
 * number exceeds the depth at which it reads ranges.
 */
const LAST_BLOCKS = [14, 14, 30] as const;

let running: Promise<unknown> = Promise.resolve();

/**
 * Simulates books on one storage, their clients and a chain, and checks the invariants of
 * docs/internals/simulation.md after each step. At the end all faults stop, and everything must settle. Simulations of
 * one process run one after the other.
 */
export function simulate(options: SimulateOptions): Promise<SimulationResult> {
  const result = running.then(async () => {
    await warmUp();
    const { seed, store = 'memory', trace = false } = options;
    if (!(store in WORLDS)) return run({ ...options, store: store as StorageName });
    const result = await WORLDS[store as keyof typeof WORLDS](String(seed), trace);
    return { ...result, seed: String(seed), store, plan: [], faults: 0, affectedCalls: 0 };
  });
  running = result.catch(() => {});
  return result;
}

async function run({ seed, store: name, scenario = {}, only, trace: keep = false }: StorageOptions) {
  const [pool, recovery] = await Promise.all([loadPool(), loadRecovery()]);
  const random = createSeededRandom(String(seed));
  const settlementContract = deployment('production', chainById(CHAIN_ID)).settlement;
  const clock = { now: () => START * 1000 + Math.floor(scheduler?.time ?? 0), after: () => () => {} };
  let scheduler: ReturnType<typeof createScheduler> | undefined;
  const storage = await createStorage(name, clock, settlementContract);
  const { accountStore } = storage;

  scheduler = createScheduler(random.derive('schedule'), storage.isBusy);
  const virtual = scheduler;
  const trace = createTrace(() => virtual.time, keep);
  let violation: Violation | undefined;
  let [affectedCalls, lastDisturbance] = [0, 0];
  const report = (invariant: string, details: string) => {
    violation ??= { invariant, details, time: virtual.time };
  };
  const onFault = (fault: string) => {
    affectedCalls++;
    trace.add(fault);
  };
  const hidden = new Set<string>();
  const model = new Model(pool);
  const balances = createBalances(virtual, BALANCE);
  let inner: Store = storage.connect();
  const hasQuotes = random.derive('quotes').chance(0.35);
  const drawRetention = random.derive('retention');
  const retention = drawRetention.chance(0.35) ? drawRetentionAges(drawRetention) : undefined;
  // Statistics need the whole log.
  const hasStatistics = retention === undefined && random.derive('statistics').chance(0.5);
  const fundingInterval = random.derive('funding').chance(0.3) ? 4_000 : 'off';
  const drawAttempts = random.derive('attempts');
  const hasReplays = drawAttempts.chance(0.3);
  const attempts = hasReplays ? drawAttempts.integer(2, 4) : 1_000;
  const difference = drawTimeDifference(random.derive('chain time'), hasStatistics);
  const blockTime = () => START + Math.floor(virtual.time / 1000) + difference;
  // The order of a settlement has no document for statistics.
  const settlements = hasStatistics ? 'off' : drawSettlementMode(random.derive('settlements'));
  const hasSettlements = settlements !== 'off';
  const reads = createReadCheck({ pool, model, report });
  const competitions = createCompetitions({
    pool,
    random: random.derive('competitions'),
    scheduler: virtual,
    reads,
    observer: () => observer,
    isHidden: (hash) => isHidden(hash),
    report,
  });
  const { nameAuction, findAttribution } = competitions;
  const chain = createSimulatedChain({ pool, settlementContract, hasSettlements, nameAuction, now: blockTime });
  const statistics = createStatisticsCheck({ pool, model, affiliates: accountStore.affiliates });
  if (hasStatistics) await statistics.register();
  const quotes = createQuoteCheck({ pool, report });
  const observer: StoreObserver = createStoreObserver({
    inner: () => storage.observed ?? inner,
    model,
    pool,
    quotes,
    chain,
    isHidden: (hash) => hidden.has(hash),
    retention,
    settlements,
    findAttribution,
    time: () => virtual.time,
    now: () => START + Math.floor(virtual.time / 1000),
    onRemove: (orders) => notifications.onRemove(orders),
    report,
    onEvents: () => {
      trace.add(`log ${observer.log.last}`);
      machine.notify();
    },
  });
  const transactions = createTransactionCheck({ observer, report });
  const isHidden = (transactionHash: string) =>
    [...hidden].some((hash) => chain.find(hash as Hex)?.facts.some((fact) => fact.transactionHash === transactionHash));
  const deliveries = createDeliveryChecks({
    store: accountStore,
    model,
    balances,
    pool,
    report,
    scheduler: virtual,
    onFault,
    fundingInterval,
    attempts,
    latestTime: () => machine.latestTime,
    processes: storage.processes,
    isQuiet: () => machine.isQuiet,
    isHidden,
    lastEntry: () => observer.log.last,
  });
  const { receiver, notifications } = deliveries;
  await deliveries.subscriptions.subscribeAll(START * 1000);
  const machine = createMachine({
    scheduler: virtual,
    random: random.derive('machine'),
    storage,
    accountStore,
    chain,
    balances,
    hasQuotes,
    fundingInterval,
    attempts,
    settlements,
    retention,
    hasStatistics,
    observer,
    transactions,
    receiver,
    recovery,
    report,
    trace: trace.add,
    onAccountCall: deliveries.onCall,
    onDisturbance(owner) {
      if (owner === undefined) lastDisturbance = virtual.time;
      deliveries.onDisturbance(owner);
    },
    onHidden: (hash) => void hidden.add(hash),
    onFault,
    onConnect: (store) => {
      inner = store;
    },
  });
  const auctions = createAuctionCheck({
    pool,
    model,
    balances,
    scheduler: virtual,
    observer,
    competitions,
    reads,
    hasQuotes,
    report,
  });
  const http = createHttpClient({ pool, chain, reads, auctions, competitions, report });
  const clients = createClients({
    pool,
    model,
    insertions: observer.insertions,
    report,
    trace: trace.add,
    reads,
    http,
    competitions,
    quotes,
    subscriptions: deliveries.subscriptions,
    host: storage.host,
    transactions,
    isQuiet: (ms) => machine.isQuiet && virtual.time >= lastDisturbance + ms,
    getLogEnd: () => observer.log.last,
    kill: (process) => machine.kill(process),
    scheduler: virtual,
    getReadThrough: () => Math.min(notifications.processed, ...machine.positions),
  });
  const findProcess = () => machine.find(random.pick([0, 1]));
  const connection = { scheduler: virtual, report, trace: trace.add, findProcess };
  const filters = [...pool.owners.map((owner) => ({ owner })), {}, { uid: pool.orders[0]?.uid ?? '' }];
  const subscribers = filters.map((filter, i) => {
    const name = `subscriber ${i}`;
    const { log } = observer;
    return createSubscriber({ ...connection, name, filter, random: random.derive(name), model, pool, log });
  });
  if (random.derive('auctions').chance(0.5)) {
    const name = 'auction subscriber';
    subscribers.push(createAuctionSubscriber({ ...connection, name, random: random.derive(name), auctions }));
  }
  const drawAccount = random.derive('account subscriber');
  if (drawAccount.chance(0.5)) {
    const [name, account] = ['account subscriber', drawAccount.pick(pool.owners)];
    const store = accountStore;
    subscribers.push(createAccountSubscriber({ ...connection, name, account, store, random: drawAccount }));
  }
  const context = {
    pool,
    processes: storage.processes,
    subscribers: subscribers.length,
    storeFaults: storage.faults,
    hasBackups: storage.restore !== undefined,
    hasQuotes,
    hasRetention: retention !== undefined,
    hasSubscriptions: random.derive('subscriptions').chance(0.4),
    hasReplays,
    hasFundingChecks: fundingInterval !== 'off',
    hasTransactions: storage.host !== undefined,
    isShared: storage.traits.writers === 'many',
  };
  const all = createPlan(random.derive('plan'), scenario, context);
  const selected = only === undefined ? undefined : new Set(only);
  const plan = all.filter(({ id }) => selected === undefined || selected.has(id));

  const isOver = () => violation !== undefined;
  const perform = createPerformer({
    pool,
    machine,
    chain,
    balances,
    clients,
    competitions,
    hasSettlements,
    subscribers,
    scheduler: virtual,
    trace: trace.add,
    isOver,
  });
  try {
    await virtual.run(1_000, isOver);
    for (const action of plan) {
      await virtual.run(action.delay, isOver);
      deliveries.check();
      if (isOver()) break;
      await perform(action);
    }
    trace.add('heal');
    machine.heal();
    for (let left = random.pick(LAST_BLOCKS); left > 0; left--) chain.mine([]);
    await settle();
    await finish();
  } finally {
    machine.kill();
    await virtual.release();
    await storage.dispose();
  }

  /** Waits until every process, operation and stream is idle, and reports those that are not in time. */
  async function settle(): Promise<void> {
    for (let time = 0; time < LIVENESS_TIME && !isOver(); time += LIVENESS_STEP) {
      if (deliveries.hasDead) for (const each of machine.running) void clients.run({ kind: 'replay' }, each);
      await virtual.run(LIVENESS_STEP, isOver);
      deliveries.check();
      let isSettled = true;
      await checkRest(() => {
        isSettled = false;
      });
      if (isSettled) return;
    }
    if (!isOver()) await checkRest(report);
  }

  /** Reads the auction of each process, when nothing disturbs it any more. */
  async function finish(): Promise<void> {
    for (const each of machine.running) void clients.run({ kind: 'auction' }, each);
    if (hasStatistics)
      for (const { process, accounts } of machine.running)
        void statistics.compareAffiliates(process.name, accounts, report);
    await virtual.run(LIVENESS_STEP, isOver);
    if (!isOver()) clients.requireAll(report);
  }

  async function checkRest(notify: Report): Promise<void> {
    if (machine.running.length < storage.processes) return notify('liveness', 'a process has not started');
    observer.requireAllFacts(chain.head.hash, notify);
    await observer.compare(START + Math.floor(virtual.time / 1000));
    checkExpiries({ model, pool, now: START + Math.floor(virtual.time / 1000) }, notify);
    clients.requireAll(notify);
    for (const each of machine.running) each.requireAllEvents(notify);
    for (const each of subscribers) await each.requireAll(notify);
    if (hasStatistics)
      for (const { process, accounts } of machine.running) await statistics.compare(process.name, accounts, notify);
    await deliveries.compare(notify, virtual.time > machine.latestClaim);
  }

  const result: SimulationResult = {
    seed: String(seed),
    store: name,
    hash: trace.hash,
    ...(violation === undefined ? {} : { violation }),
    plan,
    operations: clients.started,
    faults: plan.filter(({ type }) => type === 'fault').length,
    affectedCalls,
    forks: plan.filter(({ type }) => type === 'fork').length,
    commits: model.commit,
    duration: virtual.time,
    lines: trace.lines,
  };
  return result;
}
