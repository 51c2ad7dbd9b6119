import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { BookStorage, BookSystem } from './book-driver.ts';
import { BookSystem as Fixture } from './book-driver.ts';
import type { BookModel, Fact, Shown } from './book-model.ts';
import { QUOTAS, BookModel as Start, sample } from './book-model.ts';
import { SAMPLES, SIGNERS } from './book-orders.ts';

// Operations on a book as commands of fast-check. Each runs on the model and on the real book, after which both must
// show the same state.

/** The model in a mutable holder. */
interface Held {
  state: BookModel;
  /** A rolled back cancellation can reopen an order beyond a quota. */
  hasRolledBack?: boolean;
}

type BookCommand = fc.AsyncCommand<Held, BookSystem>;

/** An operation: its effect on the real book, and the expected results and state. */
export interface Operation {
  readonly label: string;
  /** Number of the process that runs it. */
  readonly by: number;
  real(fixture: BookSystem): Promise<string>;
  model(state: BookModel, at: number): [string, BookModel];
  /** Parts of the operation, between which others can interleave. Its results are theirs, joined by commas. */
  readonly parts?: readonly Operation['model'][];
}

/** An operation whose details depend on the state. */
export type Plan = (state: BookModel) => Operation;

/** Weighted indexes, so that operations hit the same orders. */
const anyOrder = fc.oneof({ weight: 2, arbitrary: fc.nat(3) }, { weight: 3, arbitrary: fc.nat(SAMPLES.length - 1) });
const orders = fc.uniqueArray(anyOrder, { minLength: 1, maxLength: 3 });
const by = fc.nat(1);

const submitting =
  (list: readonly number[], by: number): Plan =>
  () => ({
    label: `submit ${list.join('+')}`,
    by,
    real: (fixture) => fixture.submit(list, by),
    model: submitted(list),
    // Concurrent orders are checked independently.
    parts: list.map((n) => submitted([n])),
  });
const submitted =
  (list: readonly number[]): Operation['model'] =>
  (state, at) => {
    const [words, next] = state.submit(list, at);
    return [words.join(), next];
  };
const submit = fc.record({ list: orders, by }).map(({ list, by }) => submitting(list, by));
const submitFew = fc
  .record({ list: fc.uniqueArray(anyOrder, { minLength: 1, maxLength: 2 }), by })
  .map(({ list, by }) => submitting(list, by));

/** Mostly the right key. */
const cancel: fc.Arbitrary<Plan> = fc
  .record({ list: fc.uniqueArray(anyOrder, { minLength: 1, maxLength: 2 }), otherOwner: fc.nat(9), by })
  .map(({ list, otherOwner, by }) => () => {
    const owner = sample(list[0] ?? 0).signer;
    const signer = otherOwner === 0 ? (owner + 1) % SIGNERS.length : owner;
    return {
      label: `cancel ${list.join('+')}${otherOwner === 0 ? ' by a stranger' : ''}`,
      by,
      real: (fixture) => fixture.cancel(list, signer, by),
      model: (state, at) => state.cancel(list, signer, at),
    };
  });

const picked = fc.record({
  type: fc.constantFrom('trade', 'trade', 'trade', 'invalidation', 'signature', 'signature'),
  order: anyOrder,
  amount: fc.oneof(fc.integer({ min: 1, max: 9 }), fc.constant(20)),
});

const mine: fc.Arbitrary<Plan> = fc
  .record({ picks: fc.array(picked, { maxLength: 3 }), by })
  .map(({ picks, by }) => (planned) => {
    const facts: Fact[] = [];
    for (const { type, order, amount } of picks) {
      const { kind, sellAmount, buyAmount } = sample(order);
      const fact = { type, order, sold: 0n, bought: 0n, signed: amount % 3 !== 0 } as const;
      if (type !== 'trade') {
        facts.push({ ...fact, type: type === 'signature' ? 'signature' : 'invalidation' });
        continue;
      }
      // The contract never fills an order beyond its amount.
      const left = planned.left(order, facts);
      const fixed = left < BigInt(amount) ? left : BigInt(amount);
      if (fixed === 0n) continue;
      const other =
        kind === 'sell' ? (fixed * buyAmount + sellAmount - 1n) / sellAmount : (fixed * sellAmount) / buyAmount;
      facts.push({ ...fact, type, sold: kind === 'sell' ? fixed : other, bought: kind === 'sell' ? other : fixed });
    }
    const height = planned.blocks.length + 1;
    const words = facts.map(({ type, order, sold, bought, signed }) => `${type} ${order} ${sold}/${bought} ${signed}`);
    return {
      label: `block ${height} (${words.join(', ')})`,
      by,
      real: (fixture) => fixture.mine(height, facts, by),
      model: (state) => [`applied ${facts.length}`, state.mine(facts)],
    };
  });

const rollback: fc.Arbitrary<Plan> = fc
  .record({ depth: fc.integer({ min: 1, max: 4 }), by })
  .map(({ depth, by }) => (planned) => ({
    label: `roll ${depth} back`,
    by,
    real: (fixture) => fixture.rollback(Math.max(0, planned.blocks.length - depth), by),
    model: (state) => ['rolledBack', state.rollback(depth)],
  }));

const again: fc.Arbitrary<Plan> = by.map((by) => (planned) => ({
  label: 'the same block again',
  by,
  real: (fixture) => fixture.again(planned.blocks.length, by),
  model: (state) => ['applied 0', state],
}));

const sweep: fc.Arbitrary<Plan> = by.map((by) => () => ({
  label: 'sweep',
  by,
  real: async (fixture) => String(await fixture.sweep(by)),
  model(state, at) {
    const [swept, next] = state.sweep(at);
    return [String(swept), next];
  },
}));

/** A race has at most one chain operation: the others depend on the state at the start of the race. */
const offChain = fc.oneof({ weight: 3, arbitrary: submitFew }, { weight: 2, arbitrary: cancel });
/** The same order again, from a client that did not wait for a response. */
const impatient = anyOrder.map((order) => [submitting([order], 0), submitting([order], 1), submitting([order], 0)]);
const onChain = fc.oneof({ weight: 3, arbitrary: mine }, { weight: 1, arbitrary: rollback });
/** Returns any operation on a book. */
export const anyOperation = fc.oneof(
  { weight: 5, arbitrary: submit },
  { weight: 2, arbitrary: cancel },
  { weight: 4, arbitrary: mine },
  { weight: 2, arbitrary: rollback },
  again,
  { weight: 2, arbitrary: sweep },
);

const command = (label: string | (() => string), run: BookCommand['run']): BookCommand => ({
  check: () => true,
  run,
  toString: typeof label === 'string' ? () => label : label,
});

/** Sequential operations. */
function alone(plan: Plan): BookCommand {
  let label = 'not done';
  return command(
    () => label,
    async (held, fixture) => {
      const { label: notified, real, model, by } = plan(held.state);
      label = notified;
      const [expected, next] = model(held.state, fixture.now);
      assert.equal(await real(fixture), expected, label);
      await follow(held, [next], fixture, by, label);
    },
  );
}

/**
 * All possible states after operations with these results, in any sequential order. An operation that was rejected
 * because of a failure has no effect.
 */
function explain(
  before: BookModel,
  at: number,
  operations: readonly Operation[],
  words: readonly string[],
): BookModel[] {
  const steps = operations.flatMap(({ parts, model }, i) => {
    const output = parts === undefined ? [words[i]] : words[i]?.split(',');
    return (parts ?? [model]).map((step, part) => ({ step, word: output?.[part] }));
  });
  const done = steps.filter(({ word }) => word !== 'InternalServerError');
  return permutations(done).flatMap((order) => {
    let state = before;
    for (const { step, word } of order) {
      const [expected, next] = step(state, at);
      if (expected !== word) return [];
      state = next;
    }
    return [state];
  });
}

/** Concurrent operations: results and state must match some sequential order. */
function race(plans: readonly Plan[]): BookCommand {
  let label = 'not done';
  return command(
    () => label,
    async (held, fixture) => {
      const operations = plans.map((plan) => plan(held.state));
      label = `at once: ${operations.map(({ label: each }) => each).join(' | ')}`;
      const words = await Promise.all(operations.map(({ real }) => real(fixture)));
      const possible = explain(held.state, fixture.now, operations, words);
      assert.ok(possible.length > 0, `${label}: in no order do they answer ${words.join(' | ')}`);
      await follow(held, possible, fixture, operations[0]?.by ?? 0, label);
    },
  );
}

/**
 * The process crashes at its write: unwritten changes are lost, and written ones stay, although no caller was notified.
 */
function crash(plan: Plan, when: 'before' | 'after'): BookCommand {
  let label = 'not done';
  return command(
    () => label,
    async (held, fixture) => {
      const { label: notified, real, model, by } = plan(held.state);
      label = `${notified}, but it dies ${when} the write`;
      const [expected, next] = model(held.state, fixture.now);
      const answer = await fixture.crashDuring(() => real(fixture), by, when);
      if (answer !== undefined) assert.equal(answer, expected, label);
      await follow(held, [answer === undefined && when === 'before' ? held.state : next], fixture, by, label);
    },
  );
}

/** The store fails during the operation: it has no effect, and the book continues without a restart. */
function disturb(plan: Plan, calls: number): BookCommand {
  let label = 'not done';
  return command(
    () => label,
    async (held, fixture) => {
      const operation = plan(held.state);
      label = `${operation.label}, but the store fails after ${calls} calls`;
      const { now } = fixture;
      const answer = await fixture.failIn(() => operation.real(fixture), operation.by, calls);
      // One failure does not have to affect all calls.
      const possible = answer === undefined ? [held.state] : explain(held.state, now, [operation], [answer]);
      assert.ok(possible.length > 0, `${label}: it answers ${answer}`);
      await follow(held, possible, fixture, operation.by, label);
    },
  );
}

const wait = (seconds: number): BookCommand =>
  command(`wait ${seconds} s`, async (held, fixture) => {
    fixture.clock.advance(seconds * 1000);
    await follow(held, [held.state], fixture, 0, 'waiting');
  });

const reopen = (by: number): BookCommand =>
  command('close and open', async (held, fixture) => {
    await fixture.reopen(by);
    await follow(held, [held.state], fixture, by, 'opened again');
  });

/** Compares both states and checks invariants. */
async function follow(
  held: Held,
  possible: readonly BookModel[],
  fixture: BookSystem,
  by: number,
  label: string,
): Promise<void> {
  const { now } = fixture;
  const shown = await fixture.look(by);
  const before = held.state;
  const fits = possible.find((state) => JSON.stringify(state.shows(now)) === JSON.stringify(shown));
  if (fits === undefined) assert.deepEqual(shown, possible[0]?.shows(now), label);
  else held.state = fits;
  held.hasRolledBack ||= held.state.blocks.length < before.blocks.length;
  hold(before, held, shown, label);
}

function hold(before: BookModel, { state: after, hasRolledBack = false }: Held, shown: Shown, label: string): void {
  const shortened = after.blocks.length < before.blocks.length;
  for (const { uid, status, sold, bought } of shown.orders) {
    const n = SAMPLES.findIndex((each) => each.uid === uid);
    const { kind, sellAmount, buyAmount } = sample(n);
    const [executed, whole] = kind === 'sell' ? [sold, sellAmount] : [bought, buyAmount];
    assert.ok(BigInt(executed) <= whole, `${label}: ${executed} of ${whole} executed`);
    if (shortened || !before.placed.has(n)) continue;
    const { state } = before.standing(n);
    if (state === 'fulfilled') assert.equal(status, 'fulfilled', `${label}: reopened`);
    if (state === 'cancelled') assert.ok(status === 'cancelled' || status === 'fulfilled', `${label}: reopened`);
  }
  for (const n of before.placed.keys()) {
    assert.ok(
      shown.orders.some(({ uid }) => uid === sample(n).uid),
      `${label}: order ${n} is lost`,
    );
  }
  for (const { open } of shown.counts) {
    // A presignature counts independently of the quota.
    const signed = [...after.placed.keys()].filter((n) => sample(n).scheme === 'presign').length;
    assert.ok(hasRolledBack || open <= QUOTAS.open + signed, `${label}: ${open} open`);
  }
}

function permutations<T>(list: readonly T[]): T[][] {
  if (list.length < 2) return [[...list]];
  return list.flatMap((first) => permutations(list.filter((each) => each !== first)).map((rest) => [first, ...rest]));
}

/** Returns a random sequence of operations with a maximum length. */
export const sequences = fc.commands<Held, BookSystem, false>(
  [
    anyOperation.map(alone),
    anyOperation.map(alone),
    anyOperation.map(alone),
    fc.constantFrom(1, 61, 150, 400, 1000, 3600).map(wait),
    fc.array(offChain, { minLength: 2, maxLength: 3 }).map(race),
    fc.tuple(offChain, onChain).map(race),
    impatient.map(race),
    fc
      .tuple(anyOperation, fc.constantFrom('before' as const, 'after' as const))
      .map(([plan, when]) => crash(plan, when)),
    fc.tuple(anyOperation, fc.nat(4)).map(([plan, calls]) => disturb(plan, calls)),
    by.map(reopen),
  ],
  { maxCommands: 25 },
);

/** Runs a sequence of operations on a storage and removes the storage. */
export async function live(commands: Iterable<BookCommand>, storage: BookStorage): Promise<void> {
  const fixture = await Fixture.begin(storage);
  try {
    await fc.asyncModelRun(() => ({ model: { state: new Start() }, real: fixture }), commands);
    await fixture.end();
  } finally {
    await fixture.dispose();
  }
}
