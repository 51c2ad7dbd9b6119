import * as z from 'zod/mini';
import { hexSchema } from '../protocol/shape.ts';

const whole = (least = 0, error = 'must not be negative') =>
  z.int('must be an integer').check(z.minimum(least, { error }));

const digits = () => z.string().check(z.regex(/^[0-9]{1,100}$/, { error: 'must be decimal digits only' }));

/** A decimal amount of any size. Leading zeros are removed. */
const amount = () =>
  z.pipe(
    digits(),
    z.transform((text: string) => text.replace(/^0+(?=\d)/, '')),
  );

const amounts = () => z._default(z.record(hexSchema(20), amount()), {});

const uids = () => z._default(z.array(hexSchema(56)), []);

/** The schema of a recorded competition, also for the OpenAPI document. */
export const competition = /* @__PURE__ */ z.object({
  auctionId: whole(1, 'must be a positive whole number'),
  auctionStartBlock: whole(),
  auctionDeadlineBlock: whole(),
  transactionHashes: z._default(z.array(hexSchema(32)), []),
  referenceScores: amounts(),
  auction: z._default(z.object({ orders: uids(), prices: amounts() }), { orders: [], prices: {} }),
  solutions: z.array(
    z.object({
      solverAddress: hexSchema(20),
      score: amount(),
      ranking: whole(1, 'must be 1 or more'),
      clearingPrices: amounts(),
      orders: z._default(
        z.array(
          z.object({
            id: hexSchema(56),
            sellAmount: amount(),
            buyAmount: amount(),
            buyToken: hexSchema(20),
            sellToken: hexSchema(20),
          }),
        ),
        [],
      ),
      isWinner: z.boolean(),
      filteredOut: z._default(z.boolean(), false),
      txHash: z._default(z.nullable(hexSchema(32)), null),
      referenceScore: z._default(z.nullable(amount()), null),
    }),
  ),
});
