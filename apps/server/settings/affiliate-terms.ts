import * as z from 'zod';
import { jsonSetting, matching, plainHttpUrl } from './types.ts';

export function affiliateTerms() {
  return jsonSetting(termsSchema());
}

export function affiliateTermsByCode() {
  const error = 'must be an object: terms by affiliate code';
  const code = matching(/^[A-Z0-9_-]{5,20}$/, '', '5 to 20 capital letters, digits, "_" and "-"').schema;
  return jsonSetting(z.record(code, termsSchema(), { error }));
}

/** The source of statistics: `own`, or a URL. */
export function statisticsSource() {
  const { schema: url } = plainHttpUrl();
  const expected = '"own", or an http or https URL without a user name and a password';
  const error = `must be ${expected}`;
  const isValid = (given: string) => given === 'own' || url.safeParse(given).success;
  const schema = z.string({ error }).refine(isValid, { error });
  return { schema, value: 'own|<url>', expected, fromText: (given: string) => given };
}

function termsSchema() {
  const amount = number('a number from 0 up');
  const percent = number('a number from 0 to 100', 100);
  return z.strictObject(
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
}

function number(expected: string, most = Number.MAX_SAFE_INTEGER) {
  const error = `must be ${expected}`;
  return z.number({ error }).min(0, { error }).max(most, { error });
}
