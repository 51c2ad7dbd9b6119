/** A call of a concurrent history. Times are of one clock, in any unit. */
export interface HistoryEntry<I, O> {
  readonly input: I;
  /** Absent: the outcome is unknown. The call may have taken effect at any time after its start, or never. */
  readonly output?: O;
  /** When the call started. */
  readonly start: number;
  /** When it returned. Absent for an unknown outcome. */
  readonly end?: number;
}

/** A sequential specification: what each call returns if calls run one after the other. */
export interface SequentialModel<S, I, O> {
  readonly initial: S;
  /**
   * Returns the possible states after a call, or none if the specification does not allow this output.
   *
   * @param output - Absent: the outcome is unknown, and every output is possible.
   */
  step(state: S, input: I, output: O | undefined): readonly S[];
  /** Returns a text that is equal for equal states. Default: JSON. */
  readonly stateKey?: (state: S) => string;
  /** Returns the independent object that a call concerns. Each is checked alone, which is much faster. Default: one. */
  readonly partition?: (input: I) => string;
}

/** The result of a check. */
export type LinearizabilityResult<I, O> =
  | { readonly status: 'linearizable' }
  /** No sequential order explains the calls of `partition`. `explained` is the longest sequence that was found. */
  | {
      readonly status: 'not linearizable';
      readonly partition: string;
      readonly explained: readonly HistoryEntry<I, O>[];
      readonly history: readonly HistoryEntry<I, O>[];
    }
  /** The check was ended after `maxStates` states. */
  | { readonly status: 'undecided'; readonly partition: string };

/**
 * Checks whether a concurrent history is linearizable: whether each call can be assigned one moment between its start
 * and its end, so that the calls in the order of these moments are a history of the model (Herlihy and Wing, 1990).
 * The search is that of Wing and Gong with the cache of Lowe, one partition after the other.
 *
 * @param options.maxStates - Maximum number of states per partition. Default: 1,000,000.
 * @throws TypeError if a call ends before it starts.
 */
export function checkLinearizability<S, I, O>(
  model: SequentialModel<S, I, O>,
  history: readonly HistoryEntry<I, O>[],
  { maxStates = 1_000_000 }: { readonly maxStates?: number } = {},
): LinearizabilityResult<I, O> {
  const partitions = new Map<string, HistoryEntry<I, O>[]>();
  for (const entry of history) {
    if (entry.end !== undefined && entry.end < entry.start) {
      throw new TypeError(`end must be at or after start ${entry.start}, got ${entry.end}`);
    }
    const partition = model.partition?.(entry.input) ?? '';
    const entries = partitions.get(partition);
    if (entries === undefined) partitions.set(partition, [entry]);
    else entries.push(entry);
  }
  for (const [partition, entries] of partitions) {
    const sorted = entries.sort((a, b) => a.start - b.start);
    const result = searchOrder(model, sorted, maxStates);
    if (result === 'undecided') return { status: 'undecided', partition };
    if (result !== 'found') {
      return { status: 'not linearizable', partition, explained: result, history: sorted };
    }
  }
  return { status: 'linearizable' };
}

/** A position of the search: the calls in order so far, and the state after them. */
interface Position<S> {
  readonly state: S;
  /** Indexes of the calls, as bits. */
  readonly done: bigint;
  readonly order: readonly number[];
}

/** Searches a sequential order. @returns the longest explained sequence if there is none. */
function searchOrder<S, I, O>(
  { initial, step, stateKey = JSON.stringify }: SequentialModel<S, I, O>,
  entries: readonly HistoryEntry<I, O>[],
  maxStates: number,
): 'found' | 'undecided' | readonly HistoryEntry<I, O>[] {
  const required = entries.reduce((bits, { end }, i) => (end === undefined ? bits : bits | (1n << BigInt(i))), 0n);
  const seen = new Set<string>();
  const stack: Position<S>[] = [{ state: initial, done: 0n, order: [] }];
  let longest: readonly number[] = [];
  for (let position = stack.pop(); position !== undefined; position = stack.pop()) {
    const { state, done, order } = position;
    if ((done & required) === required) return 'found';
    if (order.length > longest.length) longest = order;
    // Pushed from last to first, so that the earliest call is tried first.
    for (const i of listCandidates(entries, done).reverse()) {
      const { input, output } = entries[i] as HistoryEntry<I, O>; // an index of the list
      for (const next of step(state, input, output)) {
        const bits = done | (1n << BigInt(i));
        const key = `${bits.toString(36)} ${stateKey(next)}`;
        if (seen.has(key)) continue;
        if (seen.size >= maxStates) return 'undecided';
        seen.add(key);
        stack.push({ state: next, done: bits, order: [...order, i] });
      }
    }
  }
  return longest.map((i) => entries[i] as HistoryEntry<I, O>); // indexes of the list
}

/** Returns the calls that can be next: those that started before every remaining call has ended. */
function listCandidates(entries: readonly HistoryEntry<unknown, unknown>[], done: bigint): number[] {
  const candidates: number[] = [];
  let firstEnd = Number.POSITIVE_INFINITY;
  for (const [i, { start, end = Number.POSITIVE_INFINITY }] of entries.entries()) {
    if (start > firstEnd) break; // entries are sorted by start
    if ((done >> BigInt(i)) & 1n) continue;
    candidates.push(i);
    firstEnd = Math.min(firstEnd, end);
  }
  return candidates.filter((i) => (entries[i]?.start ?? 0) <= firstEnd);
}
