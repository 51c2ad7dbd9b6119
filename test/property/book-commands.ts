import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { BookWorld, Medium } from './book-driver.ts';
import { BookWorld as World } from './book-driver.ts';
import type { BookModel, Fact, Shown } from './book-model.ts';
import { CAPS, BookModel as Start, sample } from './book-model.ts';
import { SAMPLES, SIGNERS } from './book-orders.ts';

// Operations on a book as commands of fast-check. Each runs on the model and on the real book, after which both must
// show the same state.

/** The model in a mutable holder. */
interface Held {
  state: BookModel;
  /** A rolled back cancellation can reopen an order beyond a cap. */
  hasRolledBack?: boolean;
}

type BookCommand = fc.AsyncCommand<Held, BookWorld>;

/** An operation: its effect on the real book, and the expected results and state. */
export interface Deed {
  readonly says: string;
  /** Number of the process that runs it. */
  readonly by: number;
  real(world: BookWorld): Promise<string>;
  model(state: BookModel, at: number): [string, BookModel];
  /** Parts of the operation, between which others can interleave. Its results are theirs, joined by commas. */
  readonly parts?: readonly Deed['model'][];
}

/** An operation whose details depend on the state. */
export type Plan = (state: BookModel) => Deed;

/** Weighted indexes, so that operations hit the same orders. */
const anyOrder = fc.oneof({ weight: 2, arbitrary: fc.nat(3) }, { weight: 3, arbitrary: fc.nat(SAMPLES.length - 1) });
const orders = fc.uniqueArray(anyOrder, { minLength: 1, maxLength: 3 });
const by = fc.nat(1);

const submitting =
  (list: readonly number[], by: number): Plan =>
  () => ({
    says: `submit ${list.join('+')}`,
    by,
    real: (world) => world.submit(list, by),
    model: submitted(list),
    // Concurrent orders are checked independently.
    parts: list.map((n) => submitted([n])),
  });
const submitted =
  (list: readonly number[]): Deed['model'] =>
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
  .record({ list: fc.uniqueArray(anyOrder, { minLength: 1, maxLength: 2 }), stranger: fc.nat(9), by })
  .map(({ list, stranger, by }) => () => {
    const owner = sample(list[0] ?? 0).signer;
    const signer = stranger === 0 ? (owner + 1) % SIGNERS.length : owner;
    return {
      says: `cancel ${list.join('+')}${stranger === 0 ? ' by a stranger' : ''}`,
      by,
      real: (world) => world.cancel(list, signer, by),
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
      says: `block ${height} (${words.join(', ')})`,
      by,
      real: (world) => world.mine(height, facts, by),
      model: (state) => [`applied ${facts.length}`, state.mine(facts)],
    };
  });

const rollback: fc.Arbitrary<Plan> = fc
  .record({ depth: fc.integer({ min: 1, max: 4 }), by })
  .map(({ depth, by }) => (planned) => ({
    says: `roll ${depth} back`,
    by,
    real: (world) => world.rollback(Math.max(0, planned.blocks.length - depth), by),
    model: (state) => ['rolledBack', state.rollback(depth)],
  }));

const again: fc.Arbitrary<Plan> = by.map((by) => (planned) => ({
  says: 'the same block again',
  by,
  real: (world) => world.again(planned.blocks.length, by),
  model: (state) => ['applied 0', state],
}));

const sweep: fc.Arbitrary<Plan> = by.map((by) => () => ({
  says: 'sweep',
  by,
  real: async (world) => String(await world.sweep(by)),
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
export const anyDeed = fc.oneof(
  { weight: 5, arbitrary: submit },
  { weight: 2, arbitrary: cancel },
  { weight: 4, arbitrary: mine },
  { weight: 2, arbitrary: rollback },
  again,
  { weight: 2, arbitrary: sweep },
);

const command = (says: string | (() => string), run: BookCommand['run']): BookCommand => ({
  check: () => true,
  run,
  toString: typeof says === 'string' ? () => says : says,
});

/** Sequential operations. */
function alone(plan: Plan): BookCommand {
  let says = 'not done';
  return command(
    () => says,
    async (held, world) => {
      const { says: told, real, model, by } = plan(held.state);
      says = told;
      const [expected, next] = model(held.state, world.now);
      assert.equal(await real(world), expected, says);
      await follow(held, [next], world, by, says);
    },
  );
}

/**
 * All possible states after operations with these results, in any sequential order. An operation that was rejected
 * because of a failure has no effect.
 */
function explain(before: BookModel, at: number, deeds: readonly Deed[], words: readonly string[]): BookModel[] {
  const steps = deeds.flatMap(({ parts, model }, i) => {
    const said = parts === undefined ? [words[i]] : words[i]?.split(',');
    return (parts ?? [model]).map((step, part) => ({ step, word: said?.[part] }));
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
  let says = 'not done';
  return command(
    () => says,
    async (held, world) => {
      const deeds = plans.map((plan) => plan(held.state));
      says = `at once: ${deeds.map(({ says: each }) => each).join(' | ')}`;
      const words = await Promise.all(deeds.map(({ real }) => real(world)));
      const possible = explain(held.state, world.now, deeds, words);
      assert.ok(possible.length > 0, `${says}: in no order do they answer ${words.join(' | ')}`);
      await follow(held, possible, world, deeds[0]?.by ?? 0, says);
    },
  );
}

/**
 * The process crashes at its write: unwritten changes are lost, and written ones stay, although no caller was notified.
 */
function crash(plan: Plan, when: 'before' | 'after'): BookCommand {
  let says = 'not done';
  return command(
    () => says,
    async (held, world) => {
      const { says: told, real, model, by } = plan(held.state);
      says = `${told}, but it dies ${when} the write`;
      const [expected, next] = model(held.state, world.now);
      const answer = await world.dieIn(() => real(world), by, when);
      if (answer !== undefined) assert.equal(answer, expected, says);
      await follow(held, [answer === undefined && when === 'before' ? held.state : next], world, by, says);
    },
  );
}

/** The store fails during the operation: it has no effect, and the book continues without a restart. */
function disturb(plan: Plan, calls: number): BookCommand {
  let says = 'not done';
  return command(
    () => says,
    async (held, world) => {
      const deed = plan(held.state);
      says = `${deed.says}, but the store fails after ${calls} calls`;
      const { now } = world;
      const answer = await world.failIn(() => deed.real(world), deed.by, calls);
      // One failure does not have to affect all calls.
      const possible = answer === undefined ? [held.state] : explain(held.state, now, [deed], [answer]);
      assert.ok(possible.length > 0, `${says}: it answers ${answer}`);
      await follow(held, possible, world, deed.by, says);
    },
  );
}

const wait = (seconds: number): BookCommand =>
  command(`wait ${seconds} s`, async (held, world) => {
    world.clock.advance(seconds * 1000);
    await follow(held, [held.state], world, 0, 'waiting');
  });

const reopen = (by: number): BookCommand =>
  command('close and open', async (held, world) => {
    await world.reopen(by);
    await follow(held, [held.state], world, by, 'opened again');
  });

/** Compares both states and checks invariants. */
async function follow(
  held: Held,
  possible: readonly BookModel[],
  world: BookWorld,
  by: number,
  says: string,
): Promise<void> {
  const { now } = world;
  const shown = await world.look(by);
  const before = held.state;
  const fits = possible.find((state) => JSON.stringify(state.shows(now)) === JSON.stringify(shown));
  if (fits === undefined) assert.deepEqual(shown, possible[0]?.shows(now), says);
  else held.state = fits;
  held.hasRolledBack ||= held.state.blocks.length < before.blocks.length;
  hold(before, held, shown, says);
}

function hold(before: BookModel, { state: after, hasRolledBack = false }: Held, shown: Shown, says: string): void {
  const shortened = after.blocks.length < before.blocks.length;
  for (const { uid, status, sold, bought } of shown.orders) {
    const n = SAMPLES.findIndex((each) => each.uid === uid);
    const { kind, sellAmount, buyAmount } = sample(n);
    const [executed, whole] = kind === 'sell' ? [sold, sellAmount] : [bought, buyAmount];
    assert.ok(BigInt(executed) <= whole, `${says}: ${executed} of ${whole} executed`);
    if (shortened || !before.placed.has(n)) continue;
    const { state } = before.standing(n);
    if (state === 'fulfilled') assert.equal(status, 'fulfilled', `${says}: reopened`);
    if (state === 'cancelled') assert.ok(status === 'cancelled' || status === 'fulfilled', `${says}: reopened`);
  }
  for (const n of before.placed.keys()) {
    assert.ok(
      shown.orders.some(({ uid }) => uid === sample(n).uid),
      `${says}: order ${n} is lost`,
    );
  }
  for (const { open } of shown.counts) {
    // A presignature counts independently of the cap.
    const signed = [...after.placed.keys()].filter((n) => sample(n).scheme === 'presign').length;
    assert.ok(hasRolledBack || open <= CAPS.open + signed, `${says}: ${open} open`);
  }
}

function permutations<T>(list: readonly T[]): T[][] {
  if (list.length < 2) return [[...list]];
  return list.flatMap((first) => permutations(list.filter((each) => each !== first)).map((rest) => [first, ...rest]));
}

/** Returns a random sequence of operations with a maximum length. */
export const lives = fc.commands<Held, BookWorld, false>(
  [
    anyDeed.map(alone),
    anyDeed.map(alone),
    anyDeed.map(alone),
    fc.constantFrom(1, 61, 150, 400, 1000, 3600).map(wait),
    fc.array(offChain, { minLength: 2, maxLength: 3 }).map(race),
    fc.tuple(offChain, onChain).map(race),
    impatient.map(race),
    fc.tuple(anyDeed, fc.constantFrom('before' as const, 'after' as const)).map(([plan, when]) => crash(plan, when)),
    fc.tuple(anyDeed, fc.nat(4)).map(([plan, calls]) => disturb(plan, calls)),
    by.map(reopen),
  ],
  { maxCommands: 25 },
);

/** Runs a sequence of operations on a storage and removes the storage. */
export async function live(commands: Iterable<BookCommand>, medium: Medium): Promise<void> {
  const world = await World.begin(medium);
  try {
    await fc.asyncModelRun(() => ({ model: { state: new Start() }, real: world }), commands);
    await world.end();
  } finally {
    await world.dispose();
  }
}
