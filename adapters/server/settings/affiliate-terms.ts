import * as z from 'zod';

/** The terms of the affiliate programme. They have no text form. */
export function affiliateTerms() {
  const amount = number('a number from 0 up');
  const percent = number('a number from 0 to 100', 100);
  const schema = z.strictObject(
    {
      rewardAmount: amount,
      triggerVolume: amount,
      timeCapDays: amount,
      volumeCap: amount,
      revenueSplitAffiliatePct: percent,
      revenueSplitTraderPct: percent,
      revenueSplitDaoPct: percent,
    },
    { error: 'must be the terms of the affiliate programme' },
  );
  return { schema, value: '', expected: '', fromText: () => undefined };
}

function number(expected: string, most = Number.MAX_SAFE_INTEGER) {
  const error = `must be ${expected}`;
  return z.number({ error }).min(0, { error }).max(most, { error });
}
