import type { Cancel, Clock } from '../ports/clock.ts';
import type { Address } from '../protocol/hex.ts';
import type { BalanceApi } from '../records/balance-api.ts';
import type { TokenBalance } from '../records/results.ts';

/** An event of a balance stream. */
export type BalanceEvent =
  /** The balances of all requested tokens: once, at the start. */
  | { readonly type: 'initial_balances'; readonly balances: readonly TokenBalance[] }
  | { readonly type: 'balance_update'; readonly update: BalanceUpdate }
  /** The chain query fails. Emitted once; changes follow when it succeeds again. */
  | { readonly type: 'unavailable' };

/** A change since the last event. Amounts are atoms as decimal text. */
export type BalanceUpdate = {
  readonly chainId: number;
  readonly userAddress: Address;
  readonly tokenAddress: Address;
  /** Time of the read, in milliseconds since 1970. */
  readonly timestamp: number;
} & (
  | { readonly type: 'balance_change'; readonly oldBalance: string; readonly newBalance: string }
  | { readonly type: 'allowance_change'; readonly oldAllowance: string; readonly newAllowance: string }
);

/** An account on a chain, and the balance API that reads it. */
export interface WatchedAccount {
  readonly chainId: number;
  readonly account: Address;
  readonly balances: BalanceApi;
}

/** The balances of an account in some tokens, shared by all readers of these tokens. */
interface Tracker {
  readonly watched: WatchedAccount;
  readonly tokens: readonly Address[];
  readonly readers: Set<Reader>;
  readonly abandoned: AbortController;
  readonly latest: Map<Address, TokenBalance>;
  readAt: number;
  /** Number of reads that were started, and number of the latest that has succeeded. */
  started: number;
  succeeded: number;
  failing: boolean;
  reading: boolean;
  cancel: Cancel | undefined;
}

interface Reader {
  wake(): void;
  end(): void;
}

/**
 * Watches balances by polling. Readers of an account with the same tokens share one poll; other tokens, which may fail,
 * have their own. An event is the difference to the last event, computed when the reader reads. So a slow reader uses
 * no additional memory, and misses only changes that were reverted.
 *
 * @param interval - Time between two reads, in milliseconds.
 */
export function createBalanceWatch(clock: Clock, interval: number) {
  const trackers = new Map<string, Tracker>();
  let closes = 0;

  function getTracker(watched: WatchedAccount, tokens: readonly Address[]): Tracker {
    const key = `${watched.chainId} ${watched.account} ${[...tokens].sort().join(' ')}`;
    const known = trackers.get(key);
    if (known !== undefined) return known;
    const tracker: Tracker = {
      watched,
      tokens,
      readers: new Set<Reader>(),
      abandoned: new AbortController(),
      latest: new Map<Address, TokenBalance>(),
      readAt: 0,
      started: 0,
      succeeded: 0,
      failing: false,
      reading: false,
      cancel: undefined,
    };
    trackers.set(key, tracker);
    tracker.abandoned.signal.addEventListener('abort', () => {
      tracker.cancel?.();
      trackers.delete(key);
    });
    return tracker;
  }

  async function read(tracker: Tracker): Promise<void> {
    const { watched, tokens, readers, abandoned, latest } = tracker;
    tracker.cancel?.();
    tracker.cancel = undefined;
    tracker.reading = true;
    const round = ++tracker.started;
    try {
      const balances = await watched.balances.get(watched.account, tokens, { signal: abandoned.signal });
      for (const balance of balances) latest.set(balance.token.address, balance);
      tracker.readAt = clock.now();
      tracker.succeeded = round;
      tracker.failing = false;
    } catch {
      tracker.failing = true; // the book has reported the failure
    }
    tracker.reading = false;
    if (abandoned.signal.aborted) return;
    tracker.cancel = clock.after(interval, () => void read(tracker));
    for (const reader of [...readers]) reader.wake();
  }

  return {
    /** Streams an account's balances and their changes, until the reader leaves or the signal is aborted. */
    watch(watched: WatchedAccount, tokens: readonly Address[], signal?: AbortSignal): AsyncIterable<BalanceEvent> {
      const opened = closes;
      return {
        [Symbol.asyncIterator]() {
          if (opened !== closes) return { next: async () => END };
          return createReader(getTracker(watched, tokens), tokens, read, signal);
        },
      };
    },
    /** Ends all streams. */
    close(): void {
      closes++;
      for (const tracker of [...trackers.values()]) for (const reader of [...tracker.readers]) reader.end();
    },
  };
}

const END = { done: true, value: undefined } as const;

function createReader(
  tracker: Tracker,
  tokens: readonly Address[],
  read: (tracker: Tracker) => Promise<void>,
  signal: AbortSignal | undefined,
): AsyncIterator<BalanceEvent> {
  // A running read may have read older balances, so the first result is that of the next read.
  const firstRound = tracker.started + 1;
  let delivered: Map<Address, TokenBalance> | undefined;
  let failureDelivered = false;
  let events: BalanceEvent[] = [];
  let waiting: (() => void)[] = [];
  let ended = false;

  const reader: Reader = {
    wake() {
      // A reader that subscribed during a read starts the next one immediately.
      if (!ended && delivered === undefined && tracker.started < firstRound && !tracker.reading) void read(tracker);
      const woken = waiting;
      waiting = [];
      for (const resolve of woken) resolve();
    },
    end() {
      if (ended) return;
      ended = true;
      signal?.removeEventListener('abort', reader.end);
      tracker.readers.delete(reader);
      if (tracker.readers.size === 0) tracker.abandoned.abort();
      events = [];
      reader.wake();
    },
  };

  function collectEvents(): void {
    if (tracker.failing !== failureDelivered) {
      failureDelivered = tracker.failing;
      if (failureDelivered) events.push({ type: 'unavailable' });
    }
    if (delivered === undefined) {
      if (tracker.succeeded < firstRound) return;
      delivered = selectBalances(tracker.latest, tokens);
      events.push({ type: 'initial_balances', balances: [...delivered.values()] });
    } else {
      const now = selectBalances(tracker.latest, tokens);
      for (const [token, balance] of now) events.push(...createUpdates(tracker, delivered.get(token), balance));
      delivered = new Map([...delivered, ...now]);
    }
  }

  tracker.readers.add(reader);
  signal?.addEventListener('abort', reader.end, { once: true });
  if (signal?.aborted) reader.end();
  else if (!tracker.reading) void read(tracker);

  return {
    async next() {
      for (;;) {
        if (ended) return END;
        if (events.length === 0) collectEvents();
        const event = events.shift();
        if (event !== undefined) return { done: false, value: event };
        await new Promise<void>((resolve) => waiting.push(resolve));
      }
    },
    async return() {
      reader.end();
      return END;
    },
  };
}

function selectBalances(
  latest: ReadonlyMap<Address, TokenBalance>,
  tokens: readonly Address[],
): Map<Address, TokenBalance> {
  const balances = new Map<Address, TokenBalance>();
  for (const token of tokens) {
    const balance = latest.get(token);
    if (balance !== undefined) balances.set(token, balance);
  }
  return balances;
}

/** Returns the differences of a token. A missing earlier balance counts as zero. */
function createUpdates(
  { watched, readAt }: Tracker,
  before: TokenBalance | undefined,
  after: TokenBalance,
): BalanceEvent[] {
  const { chainId, account } = watched;
  const common = { chainId, userAddress: account, tokenAddress: after.token.address, timestamp: readAt };
  const { balance: oldBalance = '0', allowance: oldAllowance = '0' } = before ?? {};
  const { balance: newBalance, allowance: newAllowance } = after;
  const updates: BalanceUpdate[] = [];
  if (oldBalance !== newBalance) updates.push({ type: 'balance_change', ...common, oldBalance, newBalance });
  if (oldAllowance !== newAllowance) updates.push({ type: 'allowance_change', ...common, oldAllowance, newAllowance });
  return updates.map((update) => ({ type: 'balance_update', update }));
}
