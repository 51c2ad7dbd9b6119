import fc from 'fast-check';
import type { Deed } from '../../property/book-commands.ts';
import { anyDeed } from '../../property/book-commands.ts';
import type { BookWorld } from '../../property/book-driver.ts';
import { BookModel } from '../../property/book-model.ts';

/** Number of operations of a script, and seconds between them. */
const DEEDS = 20;
const PAUSE = 40;

/** One operation of a script, with the model before and after it. */
export interface Scene {
  readonly deed: Deed;
  readonly before: BookModel;
  readonly after: BookModel;
  readonly answer: string;
  /** Milliseconds since 1970. */
  readonly at: number;
}

/** Returns the operations of a seed, which are the same in every process. */
export function scriptOf(seed: number, start: number): Scene[] {
  const [plans = []] = fc.sample(fc.array(anyDeed, { minLength: DEEDS, maxLength: DEEDS, size: 'max' }), {
    seed,
    numRuns: 1,
  });
  let state = new BookModel();
  return plans.map((plan, i) => {
    const at = start + (i + 1) * PAUSE * 1000;
    const deed = plan(state);
    const [answer, after] = deed.model(state, at);
    const before = state;
    state = after;
    return { deed, before, after, answer, at };
  });
}

/** Sets the clock of the book to the time of an operation. */
export function setTime(world: BookWorld, { at }: Scene): void {
  world.clock.advance(at - world.now);
}
