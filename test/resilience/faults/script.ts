import fc from 'fast-check';
import type { Deed } from '../../property/book-commands.ts';
import { anyDeed } from '../../property/book-commands.ts';
import type { BookWorld } from '../../property/book-driver.ts';
import { BookModel } from '../../property/book-model.ts';

/** How many deeds a script has, and how many seconds lie between them. */
const DEEDS = 20;
const PAUSE = 40;

/** One deed of a script, with what the model has before and after it. */
export interface Scene {
  readonly deed: Deed;
  readonly before: BookModel;
  readonly after: BookModel;
  readonly answer: string;
  /** Milliseconds since 1970. */
  readonly at: number;
}

/** What is done to a book by a seed: the same in every process. */
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

/** Sets the book's clock to when a deed is done. */
export function setTime(world: BookWorld, { at }: Scene): void {
  world.clock.advance(at - world.now);
}
