import fc from 'fast-check';
import type { Step } from './affiliate-lives.ts';
import { CODES, TRADERS } from './affiliate-lives.ts';

const below = (count: number) => fc.nat({ max: count - 1 });

/** Random lives of the affiliate programme: mostly trades. */
export const affiliateSteps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    {
      weight: 10,
      arbitrary: fc.record({
        type: fc.constant('trade' as const),
        book: below(2),
        trader: below(TRADERS),
        code: fc.option(below(CODES.length), { nil: undefined, freq: 4 }),
        token: below(3),
        amount: fc.integer({ min: 1, max: 200_000 }),
        lag: fc.oneof(fc.constant(0), fc.nat({ max: 120 })),
      }),
    },
    { weight: 3, arbitrary: fc.record({ type: fc.constant('register' as const), code: below(CODES.length) }) },
    {
      weight: 2,
      arbitrary: fc.record({
        type: fc.constant('rollback' as const),
        book: below(2),
        trades: fc.integer({ min: 1, max: 5 }),
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        type: fc.constant('price' as const),
        token: below(3),
        cents: fc.integer({ min: 1, max: 400_000 }),
      }),
    },
    { weight: 2, arbitrary: fc.record({ type: fc.constant('time' as const), hours: fc.integer({ min: 1, max: 20 }) }) },
    { weight: 1, arbitrary: fc.record({ type: fc.constant('restart' as const) }) },
  ),
  { minLength: 5, maxLength: 60, size: 'max' },
);
