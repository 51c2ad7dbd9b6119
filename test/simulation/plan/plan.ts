import type { FactPlan } from '../chain/chain.ts';
import type { SeededRandom } from '../machine/random.ts';
import { repeat } from '../machine/random.ts';
import type { Pool } from '../orders/pool.ts';
import { drawReplay, drawShortfalls, drawSubscriptions } from './account-plan.ts';
import { drawTransactions } from './transaction-plan.ts';

/** An action of a client. */
export type Operation =
  | {
      readonly kind: 'submit';
      readonly orders: readonly number[];
      /** The quote that each order names: the last one for its terms, or the last one for any. Absent: none. */
      readonly quote?: 'own' | 'any';
    }
  /** A request of a quote with the terms of an order. */
  | { readonly kind: 'quote'; readonly order: number }
  | { readonly kind: 'cancel'; readonly orders: readonly number[]; readonly signer: number }
  | { readonly kind: 'get'; readonly order: number }
  | { readonly kind: 'getMany'; readonly orders: readonly number[] }
  | { readonly kind: 'list'; readonly signer: number }
  | { readonly kind: 'trades'; readonly order: number }
  /** A read of an order over HTTP, with the entity tag of the last response. */
  | { readonly kind: 'http'; readonly order: number }
  /** A read of the current auction over HTTP, with the entity tag of the last response. */
  | { readonly kind: 'auction' }
  /** Deletes orders that ended a number of seconds ago, like the command of an operator. */
  | { readonly kind: 'prune'; readonly age: number }
  /** Deletes log entries of this age in seconds that every process has read, or chain events. */
  | { readonly kind: 'pruneLog' | 'pruneChain'; readonly age: number }
  /** Records a competition whose winner includes an order, to be settled within some blocks. */
  | { readonly kind: 'compete'; readonly order: number; readonly blocks: number }
  /** A read of the newest competition. */
  | { readonly kind: 'competition' }
  /** A request for a further webhook of an owner, or its removal. Equal numbers of proofs have equal nonces. */
  | { readonly kind: 'subscribe' | 'unsubscribe'; readonly owner: number; readonly proof: number }
  /** Makes dead deliveries pending again, like the command of an operator. */
  | { readonly kind: 'replay' }
  /** A transaction of the application, with the time before each of its steps and before its end in milliseconds. */
  | {
      readonly kind: 'transaction';
      readonly steps: readonly TransactionStep[];
      readonly ending: 'COMMIT' | 'ROLLBACK' | 'kill';
      readonly delays: readonly number[];
    }
  /** A list of the webhooks of an owner. */
  | { readonly kind: 'subscriptions'; readonly owner: number };

/** A submission that joins a transaction, or a savepoint of the application. */
export type TransactionStep =
  | { readonly kind: 'submit'; readonly orders: readonly number[] }
  | { readonly kind: 'savepoint' | 'rollBackTo' | 'release' };

/** A fault that is injected. Durations are in virtual milliseconds. */
export type Fault =
  | { readonly kind: 'pause'; readonly process: number; readonly duration: number }
  | { readonly kind: 'kill'; readonly process: number; readonly duration: number }
  | { readonly kind: 'restart'; readonly process: number; readonly duration: number }
  /** The process is killed, and starts again on a backup of its storage, whose log begins a new log epoch. */
  | { readonly kind: 'restore'; readonly process: number; readonly duration: number }
  | {
      readonly kind: 'clock';
      readonly process: number;
      readonly ms: number;
      readonly duration: number;
      /** Whether the process ends and starts again with the wrong clock, which has not jumped for it. */
      readonly restarts: boolean;
    }
  | { readonly kind: 'store'; readonly process: number; readonly mode: StoreFault; readonly duration: number }
  | { readonly kind: 'node'; readonly process: number; readonly mode: NodeFault; readonly duration: number }
  | { readonly kind: 'channel'; readonly mode: ChannelFault; readonly duration: number }
  /** A fault of the target of one owner, or of that of the owner's further webhooks. */
  | {
      readonly kind: 'target';
      readonly owner: number;
      readonly isFurther?: boolean;
      readonly mode: TargetFault;
      readonly duration: number;
    }
  | { readonly kind: 'disconnect'; readonly subscriber: number };

/**
 * How calls of a store fail: any call, only writes, a write after it had an effect, the later orders of a group, or
 * late; or a running write of an owner is in the way.
 */
export type StoreFault = 'fail' | 'full' | 'lose' | 'tear' | 'slow' | 'busy';
/** How a node fails: an error, no response, a late one, an old view, or blocks without their logs. */
export type NodeFault = 'fail' | 'hang' | 'slow' | 'lag' | 'hide';
/** How deliveries fail: an error, no response, or a lost acknowledgement. */
export type ChannelFault = 'fail' | 'hang' | 'lose';
/**
 * How deliveries to one target fail: an error, no response, a late one, or one that the target does not exist any more.
 */
export type TargetFault = 'fail' | 'hang' | 'slow' | 'gone';

/** One step of a plan: an operation, a fault, the end of faults, a change of the chain, or a wait. */
export type Action = { readonly id: number /** Milliseconds after the previous action. */; readonly delay: number } & (
  | { readonly type: 'operation'; readonly process: number; readonly operation: Operation }
  | { readonly type: 'fault'; readonly fault: Fault }
  | { readonly type: 'mine'; readonly facts: readonly FactPlan[] }
  | { readonly type: 'fork'; readonly depth: number; readonly keep: boolean }
  | { readonly type: 'fund'; readonly owner: number; readonly amount: number }
  /** Ends all faults that are in effect. */
  | { readonly type: 'heal' }
  | { readonly type: 'wait' }
);

/** How much happens in a simulation. */
export interface Scenario {
  /** Number of operations of clients. Default: 200 to 240. */
  readonly operations?: number;
  /** Number of faults. Default: 20 to 32. */
  readonly faults?: number;
  /** Number of forks of the chain. Default: 3 to 6. */
  readonly forks?: number;
  /** Number of mined blocks besides those of forks. Default: 24 to 40. */
  readonly blocks?: number;
  /** Number of long waits, in which orders expire. Default: 2 to 4. */
  readonly waits?: number;
  /** Number of changes of balances. Default: 0 to 12. */
  readonly funds?: number;
  /** Number of bursts of 3 to 6 submissions to one process, besides `operations`. Default: 0 to 6. */
  readonly bursts?: number;
}

/** The shape of a system, which limits the faults that are possible. */
export interface PlanContext {
  readonly pool: Pool;
  readonly processes: number;
  readonly subscribers: number;
  readonly storeFaults: readonly StoreFault[];
  /** Whether the storage has backups. */
  readonly hasBackups: boolean;
  /** Whether the books quote. */
  readonly hasQuotes: boolean;
  /** Whether old data is deleted. */
  readonly hasRetention: boolean;
  /** Whether owners change their subscriptions. */
  readonly hasSubscriptions: boolean;
  /** Whether deliveries have few attempts, and an operator replays them. */
  readonly hasReplays: boolean;
  /** Whether the account interface checks whether orders are funded. */
  readonly hasFundingChecks: boolean;
  /** Whether the application opens transactions that submissions join. */
  readonly hasTransactions: boolean;
  /** Whether an operator may delete orders while books run: the storage has several writers. */
  readonly isShared: boolean;
}

/** An action without its position in the plan. */
export type Draft = Action extends infer A ? (A extends Action ? Omit<A, 'id' | 'delay'> : never) : never;

/** Draws a plan. Each seed has its own mix of faults. */
export function createPlan(random: SeededRandom, scenario: Scenario, context: PlanContext): Action[] {
  const { operations = random.integer(200, 240), faults = random.integer(20, 32) } = scenario;
  const { forks = random.integer(3, 6), blocks = random.integer(24, 40), waits = random.integer(2, 4) } = scenario;
  const { funds = random.integer(0, 12), bursts = random.integer(0, 6) } = scenario;
  const drawFault = createFaultMix(random, context);
  const hot = drawHotOrders(random, context.pool);
  const drafts: Draft[] = [
    ...repeat(operations, () => drawOperation(random, context, hot)),
    ...repeat(faults, (): Draft => ({ type: 'fault', fault: drawFault() })),
    ...repeat(forks, (): Draft => ({ type: 'fork', depth: random.integer(1, 5), keep: random.chance(0.6) })),
    ...repeat(blocks, (): Draft => ({ type: 'mine', facts: drawFacts(random, context.pool, hot) })),
    ...repeat(funds, (): Draft => drawFunds(random, context.pool)),
    ...repeat(waits, (): Draft => ({ type: 'wait' })),
    ...repeat(context.hasRetention ? random.integer(0, 5) : 0, () => drawRound(random, context)),
  ];
  if (drafts.length === 0) return [];
  shuffle(random, drafts);
  const timed: (Draft & { delay: number })[][] = drafts.map((draft) => [
    { ...draft, delay: drawDelay(random, draft.type) },
  ]);
  for (let left = bursts; left > 0; left--) random.pick(timed).push(...drawBurst());
  const targets = random.derive('targets');
  for (let left = targets.pick([0, 0, 0, 3]); left > 0; left--)
    targets.pick(timed).push({ type: 'fault', fault: drawTargetFault(targets, context.pool), delay: 0 });
  if (targets.chance(0.15))
    timed.splice(targets.integer(0, timed.length), 0, drawTargetOutage(targets, context.pool, hot));
  if (context.hasSubscriptions)
    for (const each of drawSubscriptions(random.derive('subscriptions'), context))
      random.pick(timed).push({ ...each, delay: 0 });
  if (context.hasReplays) {
    const replays = random.derive('replays');
    for (let left = replays.integer(1, 4); left > 0; left--)
      replays.pick(timed).push({ ...drawReplay(replays, context), delay: 0 });
  }
  if (context.hasFundingChecks)
    for (const each of drawShortfalls(random.derive('shortfalls'), context.pool))
      random.pick(timed).push({ ...each, delay: 0 });
  if (context.hasTransactions)
    for (const each of drawTransactions(random.derive('transactions'), context, hot)) random.pick(timed).push(...each);
  return timed.flat().map((draft, id) => ({ ...draft, id }) as Action); // of its type

  /** Draws submissions to one process at the same time, which it stores as a group. It may restart meanwhile. */
  function drawBurst() {
    const process = random.integer(0, context.processes - 1);
    const list = () => repeat(random.integer(1, 4), () => random.pick(hot));
    const submissions = repeat(random.integer(3, 6), () => ({
      type: 'operation' as const,
      process,
      operation: { kind: 'submit' as const, orders: list() },
      delay: 0,
    }));
    if (random.chance(0.7)) return submissions;
    const fault: Fault = { kind: 'restart', process, duration: random.integer(1, 1_000) };
    return [...submissions, { type: 'fault' as const, fault, delay: random.integer(0, 60) }];
  }
}

/** Selects the orders of a seed. Of few orders, more operations collide. */
function drawHotOrders(random: SeededRandom, { orders }: Pool): number[] {
  const indexes = orders.filter(({ placedBy }) => placedBy === undefined).map(({ index }) => index);
  shuffle(random, indexes);
  return indexes.slice(0, random.pick([8, 14, 24, indexes.length]));
}

function shuffle(random: SeededRandom, list: unknown[]): void {
  for (let i = list.length - 1; i > 0; i--) {
    const other = random.integer(0, i);
    [list[i], list[other]] = [list[other], list[i]];
  }
}

function drawDelay(random: SeededRandom, type: Action['type']): number {
  if (type === 'wait') return random.pick([2_000, 8_000, 20_000, 40_000, 70_000]);
  // Most actions overlap with the previous one.
  if (random.chance(0.4)) return 0;
  return random.chance(0.85) ? random.integer(0, 40) : random.integer(100, 2_000);
}

function drawOperation(
  random: SeededRandom,
  { pool, processes, hasQuotes, hasRetention, isShared }: PlanContext,
  hot: readonly number[],
): Draft {
  const order = () => random.pick(hot);
  const placed = pool.orders.filter(({ placedBy }) => placedBy !== undefined);
  const readable = () => (random.chance(0.2) ? random.pick(placed).index : order());
  const orders = (max: number) => repeat(random.integer(1, max), order);
  const process = random.integer(0, processes - 1);
  const dice = random.fraction();
  const operation = ((): Operation => {
    if (hasQuotes && random.chance(0.15)) return { kind: 'quote', order: order() };
    if (hasRetention && random.chance(0.06)) {
      const kinds = ['pruneLog', 'pruneChain', ...(isShared ? (['prune', 'prune'] as const) : [])] as const;
      return { kind: random.pick(kinds), age: random.pick([0, 1, 10, 40]) };
    }
    if (dice < 0.36) {
      const list = orders(random.chance(0.7) ? 1 : 4);
      if (!hasQuotes || random.chance(0.4)) return { kind: 'submit', orders: list };
      return { kind: 'submit', orders: list, quote: random.chance(0.8) ? 'own' : 'any' };
    }
    if (dice < 0.5) return drawCancellation();
    if (dice < 0.58) return { kind: 'get', order: readable() };
    if (dice < 0.67) return { kind: 'http', order: readable() };
    if (dice < 0.77) return { kind: 'getMany', orders: repeat(random.integer(1, 12), readable) };
    if (dice < 0.84) return { kind: 'auction' };
    if (dice < 0.87) return { kind: 'compete', order: order(), blocks: random.integer(1, 6) };
    if (dice < 0.95) return { kind: 'list', signer: random.integer(0, pool.owners.length - 1) };
    return { kind: 'trades', order: readable() };
  })();
  return { type: 'operation', process, operation };

  function drawCancellation(): Operation {
    const list = [...new Set(orders(random.chance(0.8) ? 1 : 3))];
    const owner = pool.orders[list[0] ?? 0]?.signer ?? 0;
    // The orders of another owner are rejected, so most lists contain those of one.
    const signer = random.chance(0.95) ? owner : (owner + 1) % pool.owners.length;
    const own = random.chance(0.9) ? list.filter((n) => pool.orders[n]?.signer === owner) : list;
    return { kind: 'cancel', orders: own, signer };
  }
}

/** Steps a clock by an hour, after which a book deletes old data. */
function drawRound(random: SeededRandom, { processes }: PlanContext): Draft {
  const [process, ms] = [random.integer(0, processes - 1), random.pick([-3_600_000, 3_600_000])];
  return {
    type: 'fault',
    fault: { kind: 'clock', process, ms, duration: random.integer(2_000, 9_000), restarts: false },
  };
}

/** Faults of targets last long, so that many deliveries to them wait. */
function drawTargetFault(random: SeededRandom, { owners }: Pool): Fault {
  return {
    kind: 'target',
    owner: random.integer(0, owners.length - 1),
    mode: random.pick(['fail', 'hang', 'hang', 'slow', 'slow']),
    duration: random.integer(5_000, 60_000),
  };
}

/**
 * Draws a time in which the targets of all owners but one hang, and trades of all owners are mined. All other faults
 * end before, so that the deliveries of that owner must arrive in time.
 */
function drawTargetOutage(
  random: SeededRandom,
  { orders, owners }: Pool,
  hot: readonly number[],
): (Draft & { delay: number })[] {
  const free = random.integer(0, owners.length - 1);
  const candidates = orders.filter(({ index, rejection }) => hot.includes(index) && rejection === undefined);
  const mine = (isFree: boolean, delay: number) => ({
    type: 'mine' as const,
    facts: candidates
      .filter(({ signer }) => (signer === free) === isFree)
      .map(({ index }): FactPlan => ({ type: 'trade', order: index, amount: 1 })),
    delay,
  });
  const faults = owners.flatMap((_, owner) => {
    const fault: Fault = { kind: 'target', owner, mode: 'hang', duration: 12_000 };
    return owner === free ? [] : [{ type: 'fault' as const, fault, delay: 0 }];
  });
  const wait = (delay: number) => ({ type: 'wait' as const, delay });
  const heal = { type: 'heal' as const, delay: 0 };
  return [heal, wait(15_000), ...faults, mine(false, 1_000), mine(false, 1_000), mine(true, 3_000), wait(8_000)];
}

/** Balances are low, so that they cover some orders, parts of others, or nothing. */
function drawFunds(random: SeededRandom, { owners }: Pool): Draft {
  return { type: 'fund', owner: random.integer(0, owners.length - 1), amount: random.pick([0, 1, 2, 5, 1_000]) };
}

function drawFacts(random: SeededRandom, pool: Pool, hot: readonly number[]): FactPlan[] {
  return repeat(random.integer(0, 4), () => {
    const dice = random.fraction();
    const type = dice < 0.5 ? 'trade' : dice < 0.65 ? 'invalidation' : dice < 0.8 ? 'signature' : 'placement';
    const isPlaced = type === 'placement' || (type !== 'signature' && random.chance(0.25));
    const candidates = pool.orders.filter(({ scheme, index, placedBy }) => {
      if (isPlaced) return placedBy !== undefined;
      return type === 'signature' ? scheme === 'presign' : hot.includes(index);
    });
    const tradable = candidates.filter(({ rejection }) => rejection === undefined);
    return {
      type,
      order: random.pick(tradable.length === 0 ? pool.orders : tradable).index,
      amount: random.chance(0.3) ? 50 : random.integer(1, 9),
    };
  });
}

/** Selects the kinds of faults of a seed: some occur often, some never. */
function createFaultMix(random: SeededRandom, context: PlanContext): () => Fault {
  const { processes, subscribers, storeFaults } = context;
  const process = () => random.integer(0, processes - 1);
  const short = () => random.integer(20, 3_000);
  const kinds: readonly (() => Fault)[] = [
    () => ({ kind: 'pause', process: process(), duration: random.pick([50, 500, 3_000, 20_000, 40_000]) }),
    () => ({ kind: 'kill', process: process(), duration: random.integer(1, 8_000) }),
    () => ({ kind: 'restart', process: process(), duration: random.integer(1, 1_000) }),
    () => ({
      kind: 'clock',
      process: process(),
      ms: random.pick([-3_600_000, -90_000, -5_000, -1_000, 1_000, 5_000, 30_000, 90_000, 400_000, 7_200_000]),
      duration: random.integer(100, 70_000),
      restarts: random.chance(0.3),
    }),
    () => ({ kind: 'store', process: process(), mode: random.pick(storeFaults), duration: short() }),
    () => ({ kind: 'store', process: process(), mode: random.pick(storeFaults), duration: short() }),
    () => ({
      kind: 'node',
      process: process(),
      mode: random.pick(['fail', 'hang', 'slow', 'slow', 'lag', 'hide'] as const),
      duration: random.integer(100, 12_000),
    }),
    () => ({
      kind: 'channel',
      mode: random.pick(['fail', 'hang', 'lose'] as const),
      duration: random.integer(100, 9_000),
    }),
    () => ({ kind: 'disconnect', subscriber: random.integer(0, subscribers - 1) }),
    () => ({ kind: context.hasBackups ? 'restore' : 'kill', process: process(), duration: random.integer(1, 4_000) }),
  ];
  const weights = kinds.map(() => (random.chance(0.3) ? 0 : random.integer(1, 6)));
  const mix = kinds.flatMap((kind, i) => repeat(weights[i] ?? 0, () => kind));
  const choice = mix.length === 0 ? kinds : mix;
  return () => random.pick(choice)();
}
