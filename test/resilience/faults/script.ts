import fc from 'fast-check';
import type { Operation } from '../../property/book-commands.ts';
import { anyOperation } from '../../property/book-commands.ts';
import type { BookSystem } from '../../property/book-driver.ts';
import { BookModel } from '../../property/book-model.ts';

/** Number of operations of a script, and seconds between them. */
const OPERATIONS = 20;
const PAUSE = 40;

/** One operation of a script, with the model before and after it. */
export interface Scene {
  readonly operation: Operation;
  readonly before: BookModel;
  readonly after: BookModel;
  readonly answer: string;
  /** Milliseconds since 1970. */
  readonly at: number;
}

/** Returns the operations of a seed, which are the same in every process. */
export function scriptOf(seed: number, start: number): Scene[] {
  const [plans = []] = fc.sample(
    fc.array(anyOperation, { minLength: OPERATIONS, maxLength: OPERATIONS, size: 'max' }),
    {
      seed,
      numRuns: 1,
    },
  );
  let state = new BookModel();
  return plans.map((plan, i) => {
    const at = start + (i + 1) * PAUSE * 1000;
    const operation = plan(state);
    const [answer, after] = operation.model(state, at);
    const before = state;
    state = after;
    return { operation, before, after, answer, at };
  });
}

/** Sets the clock of the book to the time of an operation. */
export function setTime(fixture: BookSystem, { at }: Scene): void {
  fixture.clock.advance(at - fixture.now);
}
