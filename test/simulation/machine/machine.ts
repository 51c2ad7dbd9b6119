import type { AccountStore, RecoveryBackend } from 'intentbook';
import type { SimulatedChain } from '../chain/chain.ts';
import type { SettlementMode } from '../chain/settlements.ts';
import type { Report, StoreObserver } from '../checks/store-observer.ts';
import { getFurtherTarget, getTarget } from '../checks/subscription-check.ts';
import type { TransactionCheck } from '../checks/transaction-check.ts';
import type { Fault } from '../plan/plan.ts';
import type { RetentionAges } from '../plan/retention-ages.ts';
import type { AccountPortContext } from '../ports/account-port.ts';
import { createAccountPort } from '../ports/account-port.ts';
import { createNodePort } from '../ports/chain-port.ts';
import type { Receiver } from '../ports/channel.ts';
import type { Balances } from '../ports/funds-port.ts';
import { createFundsPort } from '../ports/funds-port.ts';
import { createMarketPort } from '../ports/market.ts';
import { createStorePort } from '../ports/store-port.ts';
import type { SimulatedStorage } from '../storages/storages.ts';
import type { BookProcess } from './book-process.ts';
import { createBookProcess } from './book-process.ts';
import type { VirtualProcess } from './process.ts';
import { createVirtualProcess, START } from './process.ts';
import type { SeededRandom } from './random.ts';
import type { Scheduler } from './scheduler.ts';

/** The processes of a simulation. A supervisor restarts each that has ended. */
export interface Machine {
  /** The process with an index, if its book has started. */
  find(index: number): BookProcess | undefined;
  readonly running: readonly BookProcess[];
  /** The log positions of the listeners of all processes, also of those that start or close. */
  readonly positions: readonly number[];
  /** Whether a process has started. */
  readonly isRunning: boolean;
  /** Whether all processes run, and no fault but those of targets is in effect. */
  readonly isQuiet: boolean;
  /** Applies a fault. A backup is real work, for which the promise waits. */
  apply(fault: Fault): Promise<void>;
  /**
   * The virtual time until which a delivery may wait: a process whose clock was ahead has claimed or postponed it. In
   * milliseconds.
   */
  readonly latestClaim: number;
  /** The latest time that the clock of a process has shown. In milliseconds since 1970. */
  readonly latestTime: number;
  /** Ends all faults, and corrects all clocks. */
  heal(): void;
  /** Calls the hints of processes that watch the log. */
  notify(): void;
  /** Ends a process, which the supervisor starts again. Absent: ends all processes. */
  kill(process?: VirtualProcess): void;
}

export interface MachineContext {
  readonly scheduler: Scheduler;
  readonly random: SeededRandom;
  readonly storage: SimulatedStorage;
  readonly accountStore: AccountStore;
  readonly chain: SimulatedChain;
  readonly balances: Balances;
  /** Whether the books quote. */
  readonly hasQuotes: boolean;
  readonly fundingInterval: number | 'off';
  /** Maximum number of attempts of a delivery. */
  readonly attempts: number;
  /** The orders of settlements that the books store. */
  readonly settlements: SettlementMode;
  /** Whether the account interfaces compute statistics. */
  readonly hasStatistics: boolean;
  /** The ages at which the books delete old data. */
  readonly retention: RetentionAges | undefined;
  readonly observer: StoreObserver;
  readonly transactions: TransactionCheck;
  readonly receiver: Receiver;
  readonly recovery: RecoveryBackend;
  readonly report: Report;
  readonly trace: (text: string) => void;
  readonly onAccountCall: AccountPortContext['onCall'];
  readonly onHidden: (hash: string) => void;
  readonly onFault: (name: string) => void;
  /** Called when a fault begins or ends. @param owner - The owner whose target it affects. Absent: it affects all. */
  readonly onDisturbance: (owner?: number) => void;
  readonly onConnect: (store: ReturnType<SimulatedStorage['connect']>) => void;
}

/** One of the places in which processes run, one after the other. */
interface Host {
  readonly index: number;
  readonly name: string;
  lives: number;
  /** Difference of the wall clock from the true time, in milliseconds. */
  offset: number;
  current: BookProcess | undefined;
  process: VirtualProcess | undefined;
}

/** Maximum time for which a process claims or postpones a delivery, in milliseconds. */
const CLAIM_TIME = 10_000;

/** Delay of the supervisor before it starts a process again after a failed start, in milliseconds. */
const RESTART_DELAY = 700;

/** The default of `checkTimeout`, in milliseconds. A book that closes waits as long for submissions. */
const CHECK_TIMEOUT = 5_000;

/**
 * Blocks whose hashes are kept if chain events are deleted: more than the depth of a reorganisation that the indexer
 * accepts, and more than the blocks that wait for their second read.
 */
const KEPT_HASHES = 20;

export function createMachine(context: MachineContext): Machine {
  const { scheduler, random, storage, observer, trace, receiver, onDisturbance } = context;
  const watchers = new Set<() => void>();
  const accountWatchers = new Set<() => void>();
  const endings = new Set<() => void>();
  const targetEndings = new Set<() => void>();
  const hosts = Array.from({ length: storage.processes }, (_, index): Host => {
    const offset = storage.processes === 1 ? 0 : random.integer(-1_500, 1_500);
    return { index, name: 'abc'[index] ?? '', lives: 0, offset, current: undefined, process: undefined };
  });

  function hint(watching: ReadonlySet<() => void>): void {
    for (const each of watching) scheduler.after(random.chance(0.8) ? random.integer(0, 20) : 900, each);
  }

  function start(host: Host): void {
    const name = `${host.name}${++host.lives}`;
    const process = createVirtualProcess(name, scheduler, host.offset);
    const source = random.derive(name);
    const shared = { process, scheduler, onFault: context.onFault };
    const inner = storage.connect();
    context.onConnect(inner);
    const entering = (hintProcess: () => void) => () => process.enter(hintProcess);
    const register = (set: Set<() => void>) => (hintProcess: () => void) => {
      const enter = entering(hintProcess);
      set.add(enter);
      return () => void set.delete(enter);
    };
    const store = createStorePort({
      ...shared,
      inner,
      observer,
      transactions: context.transactions,
      report: context.report,
      random: source.derive('store'),
      opens: storage.opens,
      traits: storage.traits,
      keptHashes: context.retention === undefined ? undefined : KEPT_HASHES,
      // A store that writes alone hints at the commits of the application.
      watch:
        storage.traits.writers === 'many'
          ? register(watchers)
          : (hintProcess) => inner.events.watch(entering(hintProcess)),
    });
    const accountStore = createAccountPort({
      ...shared,
      inner: context.accountStore,
      random: source.derive('accounts'),
      // An account interface that writes alone notices its own writes.
      watch: storage.processes === 1 ? () => () => {} : register(accountWatchers),
      onWrite: () => hint(accountWatchers),
      onCall: context.onAccountCall,
    });
    const nodes = ['x', 'y'].map((node) =>
      createNodePort({
        ...shared,
        name: `${name} ${node}`,
        chain: context.chain,
        random: source.derive(`node ${node}`),
        onHidden: context.onHidden,
      }),
    );
    const started = createBookProcess({
      process,
      retention: context.retention,
      hasStatistics: context.hasStatistics,
      fundingInterval: context.fundingInterval,
      attempts: context.attempts,
      settlements: context.settlements,
      store,
      accountStore,
      nodes,
      funds: createFundsPort({ ...shared, balances: context.balances, random: source.derive('funds') }),
      market: context.hasQuotes ? createMarketPort({ ...shared, random: source.derive('market') }) : undefined,
      receiver,
      random: source.derive('book'),
      recovery: context.recovery,
      log: observer.log,
      report: context.report,
      onFailure: (failure) => trace(`${name} failure ${failure instanceof Error ? failure.name : 'unknown'}`),
    });
    host.current = started;
    host.process = process;
    trace(`${name} starts`);
    started.start().then(
      () => {
        trace(`${name} has started`);
        onDisturbance();
      },
      (failure: unknown) => {
        trace(`${name} cannot start: ${failure instanceof Error ? failure.name : 'unknown'}`);
        if (host.process === process) restartLater(host, RESTART_DELAY);
      },
    );
  }

  function restartLater(host: Host, delay: number): void {
    endProcess(host);
    scheduler.after(delay, () => {
      if (host.process === undefined) start(host);
    });
  }

  function endProcess(host: Host): void {
    if (host.process === undefined) return;
    const { process } = host;
    process.kill();
    const opened = host.current?.isStarted !== undefined;
    host.process = undefined;
    host.current = undefined;
    if (opened) storage.abandon(process);
  }

  /** Closes a process in an orderly way, and starts the next one. */
  function restart(host: Host, delay: number): void {
    const { current, process } = host;
    if (current === undefined || !current.isStarted) return;
    const deadline = scheduler.time + CHECK_TIMEOUT;
    current.close().then(
      () => {
        const { submissions } = current;
        if (submissions > 0 && scheduler.time < deadline && !current.process.isDead)
          context.report('closing', `${process?.name} has closed during ${submissions} submissions`);
        if (host.process === process) restartLater(host, delay);
      },
      (failure: unknown) => context.report('failure', `${process?.name} cannot close: ${String(failure)}`),
    );
  }

  /** Sets something until a time is over, or all faults end. */
  function during(duration: number, end: () => void): void {
    const once = () => {
      if (!endings.delete(once)) return;
      end();
      onDisturbance();
    };
    endings.add(once);
    scheduler.after(duration, once);
  }

  function toggle<T>(set: Set<T> | undefined, mode: T, duration: number): void {
    if (set === undefined || set.has(mode)) return;
    set.add(mode);
    during(duration, () => void set.delete(mode));
  }

  function step(host: Host, ms: number): void {
    latestTime = getLatestTime();
    host.offset += ms;
    latestClaim = Math.max(latestClaim, scheduler.time + host.offset);
    host.process?.step(ms);
  }

  function disturbTarget({ owner, isFurther, mode, duration }: Fault & { kind: 'target' }): void {
    const target = isFurther === true ? getFurtherTarget(owner) : getTarget(owner);
    if (receiver.targetFaults.has(target)) return;
    receiver.targetFaults.set(target, mode);
    onDisturbance(owner);
    const once = () => {
      if (!targetEndings.delete(once)) return;
      receiver.targetFaults.delete(target);
      onDisturbance(owner);
    };
    targetEndings.add(once);
    scheduler.after(duration, once);
  }

  async function apply(fault: Fault): Promise<void> {
    if (fault.kind === 'target') return disturbTarget(fault);
    if (fault.kind !== 'disconnect') onDisturbance();
    const host = 'process' in fault ? hosts[fault.process % hosts.length] : undefined;
    if (fault.kind === 'channel') toggle(receiver.faults, fault.mode, fault.duration);
    else if (host !== undefined && fault.kind !== 'disconnect') await applyTo(host, fault);
  }

  /** Kills a process, and starts it on a backup. No step runs during the copy. */
  async function restore(host: Host, delay: number): Promise<void> {
    endProcess(host);
    await storage.restore?.();
    observer.log.beginEpoch();
    restartLater(host, delay);
  }

  async function applyTo(
    host: Host,
    fault: Exclude<Fault, { kind: 'channel' | 'target' | 'disconnect' }>,
  ): Promise<void> {
    switch (fault.kind) {
      case 'pause': {
        const { process } = host;
        process?.pause();
        during(fault.duration, () => process?.resume());
        break;
      }
      case 'kill':
        restartLater(host, fault.duration);
        break;
      case 'restart':
        restart(host, fault.duration);
        break;
      case 'restore':
        await restore(host, fault.duration);
        break;
      case 'clock':
        step(host, fault.ms);
        if (fault.restarts) restartLater(host, RESTART_DELAY);
        during(fault.duration, () => {
          latestClaim = Math.max(latestClaim, scheduler.time + host.offset + CLAIM_TIME);
          step(host, -fault.ms);
        });
        break;
      case 'store':
        toggle(host.current?.store.faults, fault.mode, fault.duration);
        toggle(host.current?.accountStore.faults, fault.mode, fault.duration);
        break;
      case 'node':
        for (const node of host.current?.nodes ?? []) {
          if (!random.chance(0.7)) continue;
          if (fault.mode === 'lag') node.keepHead();
          toggle(node.faults, fault.mode, fault.duration);
        }
        if (random.chance(0.5)) toggle(host.current?.funds.faults, fault.mode, fault.duration);
        if (context.hasQuotes) toggle(host.current?.market?.faults, fault.mode, fault.duration);
        break;
    }
  }

  const getLatestTime = () =>
    Math.max(latestTime, ...hosts.map(({ offset }) => START * 1000 + scheduler.time + offset));

  let latestTime = 0;
  let latestClaim = 0;
  for (const host of hosts) start(host);
  return {
    get latestClaim() {
      return latestClaim;
    },
    get latestTime() {
      return getLatestTime();
    },
    find(index) {
      const current = hosts[index % hosts.length]?.current;
      return current?.isStarted ? current : undefined;
    },
    get running() {
      return hosts.flatMap(({ current }) => (current?.isStarted ? [current] : []));
    },
    get positions() {
      return hosts.flatMap(({ current }) => (current === undefined ? [] : [current.position]));
    },
    apply,
    heal() {
      for (const end of [...endings, ...targetEndings]) end();
    },
    notify: () => hint(watchers),
    get isQuiet() {
      return endings.size === 0 && hosts.every(({ current }) => current?.isStarted === true);
    },
    get isRunning() {
      return hosts.some(({ current }) => current?.isStarted === true);
    },
    kill(process) {
      for (const host of hosts) {
        if (process === undefined) host.process?.kill();
        else if (host.process === process) restartLater(host, RESTART_DELAY);
      }
    },
  };
}
