import assert from 'node:assert/strict';
import { countersInUse, HITS } from './instrument.ts';
import { mutate, randomNumbers } from './mutate.ts';
import type { Target } from './target.ts';

/** Milliseconds of processor time that a run may take. A slow run is repeated first, because of garbage collection. */
const SLOWEST = 250;
/** Number of runs after which an input is repeated. */
const AGAIN = 16;

/** An input that breaks a rule. */
export class Finding extends Error {
  override readonly name = 'Finding';
  readonly input: Uint8Array;

  constructor(target: Target, input: Uint8Array, cause: unknown) {
    super(`${target.name}: ${JSON.stringify(Buffer.from(input).toString('latin1').slice(0, 2000))}`, { cause });
    this.input = input;
  }
}

/** Runs an input repeatedly and checks the rules of the target. */
export async function check(target: Target, input: Uint8Array): Promise<void> {
  try {
    const first = await timed(target, input);
    assert.equal(shown(await target.run(input)), first, 'the same input came out otherwise');
  } catch (cause) {
    throw new Finding(target, input, cause);
  }
}

async function timed(target: Target, input: Uint8Array): Promise<string> {
  let least = Number.POSITIVE_INFINITY;
  for (let tries = 0; tries < 4; tries++) {
    const since = process.cpuUsage();
    const outcome = await target.run(input);
    least = Math.min(least, process.cpuUsage(since).user / 1000);
    if (least < SLOWEST) return shown(outcome);
  }
  throw new Error(`${input.length} bytes take ${Math.round(least)} ms`);
}

function shown(outcome: unknown): string {
  return JSON.stringify(outcome, (_, value) => {
    if (typeof value === 'bigint') return `${value}n`;
    if (value instanceof Error) return `${value.name}: ${value.message}`;
    return value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value;
  });
}

/** Coverage of a target: the branches that were taken, and the order of magnitude of their counts in one run. */
export class Coverage {
  readonly #seen = new Uint8Array(HITS.length);
  readonly #words = new Uint32Array(HITS.buffer);

  /** Adds the branches of the last run. @returns whether any of them is new. */
  learn(): boolean {
    let isNew = false;
    const end = countersInUse() / 4;
    for (let word = 0; word < end; word++) {
      if (this.#words[word] === 0) continue;
      for (let i = 4 * word; i < 4 * word + 4; i++) {
        const degree = DEGREES[HITS[i] ?? 0] ?? 0;
        if ((degree & ~(this.#seen[i] ?? 0)) === 0) continue;
        this.#seen[i] = (this.#seen[i] ?? 0) | degree;
        isNew = true;
      }
    }
    return isNew;
  }

  get branches(): number {
    return this.#seen.reduce((sum, degrees) => sum + (degrees === 0 ? 0 : 1), 0);
  }
}

/** Buckets of counts: 1, 2, 3, up to 7, 15, 31, 127, and more, one bit each. */
const DEGREES = Uint8Array.from({ length: 256 }, (_, hits) => {
  if (hits < 4) return [0, 1, 2, 4][hits] ?? 0;
  return hits < 8 ? 8 : hits < 16 ? 16 : hits < 32 ? 32 : hits < 128 ? 64 : 128;
});

export interface Fuzzing {
  readonly target: Target;
  /** Inputs stored by earlier runs. */
  readonly corpus: readonly Uint8Array[];
  readonly seed: number;
  readonly milliseconds: number;
  /** Ends the run before the time is over. */
  readonly executions?: number;
}

export interface Fuzzed {
  readonly executions: number;
  readonly branches: number;
  /** Returns a small set of short inputs that reaches all covered branches. */
  readonly corpus: readonly Uint8Array[];
}

/**
 * Runs a target on mutations of a corpus and keeps those that take new branches.
 *
 * @throws Finding for the first input that breaks a rule.
 */
export async function fuzz({ target, corpus, seed, milliseconds, executions: most }: Fuzzing): Promise<Fuzzed> {
  const random = randomNumbers(seed);
  const coverage = new Coverage();
  const kept: Uint8Array[] = [];
  const words = target.words.map((word) => new TextEncoder().encode(word));
  const any = () => {
    // Recent inputs lead to new branches most often.
    const recent = random(2) === 0 ? Math.min(kept.length, 8) : kept.length;
    return kept[kept.length - 1 - random(recent)] ?? new Uint8Array();
  };
  const pick = () => {
    const [one, other] = [any(), any()];
    // In a short input, a mutation more probably hits a relevant byte.
    return random(4) > 0 === one.length < other.length ? one : other;
  };
  const end = performance.now() + milliseconds;
  let executions = 0;

  async function execute(input: Uint8Array): Promise<void> {
    HITS.fill(0, 0, countersInUse());
    try {
      const since = performance.now();
      await target.run(input);
      if (performance.now() - since > SLOWEST) await timed(target, input);
    } catch (cause) {
      throw new Finding(target, input, cause);
    }
    const isNew = coverage.learn();
    if (isNew) kept.push(input.slice());
    executions++;
    if (isNew || executions % AGAIN === 0) await check(target, input);
  }

  for (const input of [...corpus, ...target.seeds.map((text) => new TextEncoder().encode(text)), new Uint8Array()]) {
    await execute(input);
  }
  while (performance.now() < end && executions < (most ?? Number.POSITIVE_INFINITY)) {
    await execute(mutate(pick(), { random, words, other: pick }));
  }
  return { executions, branches: coverage.branches, corpus: await minimised(target, kept) };
}

/** Shortest first. Inputs that reach nothing beyond the shorter ones are omitted. */
async function minimised(target: Target, inputs: readonly Uint8Array[]): Promise<Uint8Array[]> {
  const coverage = new Coverage();
  const few: Uint8Array[] = [];
  for (const input of inputs.toSorted((a, b) => a.length - b.length)) {
    HITS.fill(0, 0, countersInUse());
    await target.run(input);
    if (coverage.learn()) few.push(input);
  }
  return few;
}
