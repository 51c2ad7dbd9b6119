import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { BookWorld, Medium } from './book-driver.ts';
import { BookWorld as World } from './book-driver.ts';
import type { BookModel, Fact, Shown } from './book-model.ts';
import { CAPS, BookModel as Start, sample } from './book-model.ts';
import { SAMPLES, SIGNERS } from './book-orders.ts';

// What may happen to a book, as commands of fast-check: each is done to the model and to the real thing, after which both must
// show the same.

/** The model, in a place that commands can change. */
interface Held {
  state: BookModel;
  /** What was taken back may be live again, whatever a cap says. */
  hasRolledBack?: boolean;
}

type BookCommand = fc.AsyncCommand<Held, BookWorld>;

/** One deed: what it does to the real thing, and what it ought to answer and to leave. */
export interface Deed {
  readonly says: string;
  /** Which of the processes does it. */
  readonly by: number;
  real(world: BookWorld): Promise<string>;
  model(state: BookModel, at: number): [string, BookModel];
  /** What it consists of, where others may come in between: then its words are theirs, with commas between. */
  readonly parts?: readonly Deed['model'][];
}

/** A deed whose details hang on what there is. */
export type Plan = (state: BookModel) => Deed;

/** Some more often than others, so that things happen to them one upon the other. */
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
    // Orders sent together are judged each by itself.
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

/** Mostly by the right key. */
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
      // The contract fills no order further than it goes.
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

/** Of a race, at most one has to do with the chain: the rest of it follows from what it was when the race began. */
const offChain = fc.oneof({ weight: 3, arbitrary: submitFew }, { weight: 2, arbitrary: cancel });
/** The same order, sent by whoever did not wait for an answer. */
const impatient = anyOrder.map((order) => [submitting([order], 0), submitting([order], 1), submitting([order], 0)]);
const onChain = fc.oneof({ weight: 3, arbitrary: mine }, { weight: 1, arbitrary: rollback });
/** Anything that may be done to a book. */
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

/** One after the other. */
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
 * All that may be there when deeds have answered so: as if they had come one after the other, in whatever order. One that was
 * rejected because something failed has done nothing.
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

/** At once: what they answer, and what is there afterwards, is as if they had come one after the other. */
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

/** The process dies at its write: what was not written is not there, what was is, though nobody has heard of it. */
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

/** The store fails in the middle of it: nothing has happened then, and it goes on without being opened anew. */
function disturb(plan: Plan, calls: number): BookCommand {
  let says = 'not done';
  return command(
    () => says,
    async (held, world) => {
      const deed = plan(held.state);
      says = `${deed.says}, but the store fails after ${calls} calls`;
      const { now } = world;
      const answer = await world.failIn(() => deed.real(world), deed.by, calls);
      // One failure need not be everybody's.
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

/** Compares, and holds what must hold whatever the model says. */
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
    // A signature on chain counts, whatever the cap is.
    const signed = [...after.placed.keys()].filter((n) => sample(n).scheme === 'presign').length;
    assert.ok(hasRolledBack || open <= CAPS.open + signed, `${says}: ${open} open`);
  }
}

function permutations<T>(list: readonly T[]): T[][] {
  if (list.length < 2) return [[...list]];
  return list.flatMap((first) => permutations(list.filter((each) => each !== first)).map((rest) => [first, ...rest]));
}

/** What may happen, at most so many things in a life. */
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

/** Lives a life on a medium, and disposes of it. */
export async function live(commands: Iterable<BookCommand>, medium: Medium): Promise<void> {
  const world = await World.begin(medium);
  try {
    await fc.asyncModelRun(() => ({ model: { state: new Start() }, real: world }), commands);
    await world.end();
  } finally {
    await world.dispose();
  }
}
