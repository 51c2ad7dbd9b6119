import { type Clock, type Readiness, StoreError, systemClock } from 'intentbook';

/** Milliseconds between two checks. */
const INTERVAL = 5_000;

/** Milliseconds after which a check that has not ended counts as failed. */
const TIMEOUT = 5_000;

/** A book or the account interface. */
export interface WatchedPart {
  /** The path of a book, or `accounts`. */
  readonly name: string;
  ready(): Promise<Readiness>;
  /** Reports a failure: counts and logs it. */
  report(failure: unknown): void;
}

/** Receives the changes that need no caller. */
export interface ReadinessObserver {
  /** Called with a line when a part is ready again. */
  readonly onRecovery: (message: string) => void;
  /** Called once, after the report, when a store has lost its file or its lease. Only a new process can regain it. */
  readonly onLost: (failure: StoreError) => void;
}

/** The readiness of the parts of a server, without a request. */
export type ReadinessWatch = ReturnType<typeof watchReadiness>;

/**
 * Checks at an interval whether each part can serve, and reports each change to not ready once. A load balancer sends
 * no request to a server that is not ready, so no request would fail and be reported.
 */
export function watchReadiness(
  parts: readonly WatchedPart[],
  { onRecovery, onLost }: ReadinessObserver,
  clock: Clock = systemClock,
) {
  const unready = new Set<string>();
  let isLost = false;
  let isStopped = false;
  let isRunning = false;
  let cancel = () => {};

  async function check({ name, ready, report }: WatchedPart): Promise<void> {
    const checks = await withTimeout(ready(), clock);
    if (isStopped) return;
    if (checks === undefined) {
      if (unready.delete(name)) onRecovery(`${name} is ready again`);
      return;
    }
    const failure = describe(name, checks);
    // A store may be lost after another check has failed.
    const isFirstLost = failure instanceof StoreError && !isLost;
    if (unready.has(name) && !isFirstLost) return;
    unready.add(name);
    report(failure);
    if (!isFirstLost) return;
    isLost = true;
    onLost(failure);
  }

  async function run(): Promise<void> {
    if (isRunning || isStopped) return;
    isRunning = true;
    cancel();
    await Promise.all(parts.map(check));
    isRunning = false;
    if (!isStopped) cancel = clock.after(INTERVAL, () => void run());
  }

  cancel = clock.after(INTERVAL, () => void run());
  return {
    /** Checks now, unless a check is running. */
    wake: (): void => void run(),
    /** Returns the result of the last check. Before the first one, a part is ready, since it has started. */
    isReady: (name: string): boolean => !unready.has(name),
    stop(): void {
      isStopped = true;
      cancel();
    },
  };
}

/** Returns the checks of a part that is not ready, and `undefined` if it is ready. */
async function withTimeout(state: Promise<Readiness>, clock: Clock): Promise<Readiness['checks'] | undefined> {
  let cancel = () => {};
  const timeout = new Promise<Readiness>((resolve) => {
    cancel = clock.after(TIMEOUT, () => resolve({ ready: false, checks: { store: 'no response' } }));
  });
  const { ready, checks } = await Promise.race([state, timeout]);
  cancel();
  return ready ? undefined : checks;
}

function describe(name: string, checks: Readiness['checks']): Error {
  const text = Object.entries(checks).map(([check, state]) => `${check}: ${state}`);
  if (Object.values(checks).includes('WriterLost')) {
    const reason = 'another process is its writer, its file was replaced or deleted, or its write thread has ended';
    return new StoreError('WriterLost', `${name} has lost its store: ${reason}`);
  }
  return new Error(`${name} is not ready (${text.join(', ')})`);
}
