import type { BalanceApi, TokenBalance } from '../balances/balances.ts';
import type { Cancel, Clock } from '../ports/clock.ts';
import type { Address } from '../protocol/hex.ts';

/** What a stream of balances tells. */
export type BalanceEvent =
  /** What the account has of every token that was asked for: once, at the beginning. */
  | { readonly type: 'initial_balances'; readonly balances: readonly TokenBalance[] }
  | { readonly type: 'balance_update'; readonly update: BalanceUpdate }
  /** The chain does not answer. Told once; what has changed meanwhile follows when it answers again. */
  | { readonly type: 'unavailable' };

/** A change since what the reader was told last. Amounts are atoms as decimal text. */
export type BalanceUpdate = {
  readonly chainId: number;
  readonly userAddress: Address;
  readonly tokenAddress: Address;
  /** When it was seen, milliseconds since 1970. */
  readonly timestamp: number;
} & (
  | { readonly type: 'balance_change'; readonly oldBalance: string; readonly newBalance: string }
  | { readonly type: 'allowance_change'; readonly oldAllowance: string; readonly newAllowance: string }
);

/** An account on a chain, and who tells of it. */
export interface WatchedAccount {
  readonly chainId: number;
  readonly account: Address;
  readonly balances: BalanceApi;
}

export interface BalanceWatch {
  /** Tells what an account has, and what changes, until its reader leaves or the signal is aborted. */
  watch(watched: WatchedAccount, tokens: readonly Address[], signal?: AbortSignal): AsyncIterable<BalanceEvent>;
  /** Ends all streams. */
  close(): void;
}

/** What has been read of an account, for all who watch it. */
interface Tracker {
  readonly watched: WatchedAccount;
  readonly readers: Set<Reader>;
  readonly leaving: AbortController;
  readonly seen: Map<Address, TokenBalance>;
  seenAt: number;
  /** Readings that have begun, and the latest that has succeeded. */
  begun: number;
  succeeded: number;
  failing: boolean;
  reading: boolean;
  cancel: Cancel | undefined;
}

interface Reader {
  readonly tokens: readonly Address[];
  /** Something may have changed. */
  wake(): void;
  end(): void;
}

/**
 * Watches balances by asking for them over and over: one asker for an account, however many watch it. What a reader is
 * told is the difference to what it was told last, made up when it reads: a slow one costs no memory, and misses nothing
 * but what has changed back.
 *
 * @param interval milliseconds between two readings.
 */
export function createBalanceWatch(clock: Clock, interval: number): BalanceWatch {
  const trackers = new Map<string, Tracker>();

  function trackerOf(watched: WatchedAccount): Tracker {
    const key = `${watched.chainId} ${watched.account}`;
    const known = trackers.get(key);
    if (known !== undefined) return known;
    const tracker: Tracker = {
      watched,
      readers: new Set<Reader>(),
      leaving: new AbortController(),
      seen: new Map<Address, TokenBalance>(),
      seenAt: 0,
      begun: 0,
      succeeded: 0,
      failing: false,
      reading: false,
      cancel: undefined,
    };
    trackers.set(key, tracker);
    tracker.leaving.signal.addEventListener('abort', () => {
      tracker.cancel?.();
      trackers.delete(key);
    });
    return tracker;
  }

  async function read(tracker: Tracker): Promise<void> {
    const { watched, readers, leaving, seen } = tracker;
    tracker.cancel?.();
    tracker.cancel = undefined;
    tracker.reading = true;
    const round = ++tracker.begun;
    const tokens = new Set([...readers].flatMap((reader) => reader.tokens));
    try {
      const found = await watched.balances.get(watched.account, [...tokens], { signal: leaving.signal });
      for (const token of seen.keys()) if (!tokens.has(token)) seen.delete(token);
      for (const balance of found) seen.set(balance.token.address, balance);
      tracker.seenAt = clock.now();
      tracker.succeeded = round;
      tracker.failing = false;
    } catch {
      tracker.failing = true; // the book has told the failure
    }
    tracker.reading = false;
    if (leaving.signal.aborted) return;
    tracker.cancel = clock.after(interval, () => void read(tracker));
    for (const reader of [...readers]) reader.wake();
  }

  return {
    watch(watched, tokens, signal) {
      return { [Symbol.asyncIterator]: () => createReader(trackerOf(watched), tokens, { read, signal }) };
    },
    close() {
      for (const tracker of [...trackers.values()]) for (const reader of [...tracker.readers]) reader.end();
    },
  };
}

const END = { done: true, value: undefined } as const;

interface Reading {
  readonly read: (tracker: Tracker) => Promise<void>;
  readonly signal: AbortSignal | undefined;
}

function createReader(
  tracker: Tracker,
  tokens: readonly Address[],
  { read, signal }: Reading,
): AsyncIterator<BalanceEvent> {
  // A reading that runs may not ask for these tokens, so the first to be told is the next one.
  const firstRound = tracker.begun + 1;
  let told: Map<Address, TokenBalance> | undefined;
  let toldFailing = false;
  let events: BalanceEvent[] = [];
  let waiting: (() => void)[] = [];
  let ended = false;

  const reader: Reader = {
    tokens,
    wake() {
      // Whoever has joined during a reading waits for the next one, which need not wait for its time.
      if (!ended && told === undefined && tracker.begun < firstRound && !tracker.reading) void read(tracker);
      const woken = waiting;
      waiting = [];
      for (const resolve of woken) resolve();
    },
    end() {
      if (ended) return;
      ended = true;
      signal?.removeEventListener('abort', reader.end);
      tracker.readers.delete(reader);
      if (tracker.readers.size === 0) tracker.leaving.abort();
      events = [];
      reader.wake();
    },
  };

  function gather(): void {
    if (tracker.failing !== toldFailing) {
      toldFailing = tracker.failing;
      if (toldFailing) events.push({ type: 'unavailable' });
    }
    if (told === undefined) {
      if (tracker.succeeded < firstRound) return;
      told = pick(tracker.seen, tokens);
      events.push({ type: 'initial_balances', balances: [...told.values()] });
    } else {
      const now = pick(tracker.seen, tokens);
      for (const [token, balance] of now) events.push(...updatesOf(tracker, told.get(token), balance));
      told = new Map([...told, ...now]);
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
        if (events.length === 0) gather();
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

function pick(seen: ReadonlyMap<Address, TokenBalance>, tokens: readonly Address[]): Map<Address, TokenBalance> {
  const found = new Map<Address, TokenBalance>();
  for (const token of tokens) {
    const balance = seen.get(token);
    if (balance !== undefined) found.set(token, balance);
  }
  return found;
}

/** A token that could not be read before counts as one that the account had nothing of. */
function updatesOf(
  { watched, seenAt }: Tracker,
  before: TokenBalance | undefined,
  after: TokenBalance,
): BalanceEvent[] {
  const { chainId, account } = watched;
  const about = { chainId, userAddress: account, tokenAddress: after.token.address, timestamp: seenAt };
  const { balance: oldBalance = '0', allowance: oldAllowance = '0' } = before ?? {};
  const { balance: newBalance, allowance: newAllowance } = after;
  const updates: BalanceUpdate[] = [];
  if (oldBalance !== newBalance) updates.push({ type: 'balance_change', ...about, oldBalance, newBalance });
  if (oldAllowance !== newAllowance) updates.push({ type: 'allowance_change', ...about, oldAllowance, newAllowance });
  return updates.map((update) => ({ type: 'balance_update', update }));
}
