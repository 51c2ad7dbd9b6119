import * as z from 'zod';
import { address } from './types.ts';

/** Prices of whole tokens in US dollars, by chain id and token. They have no text form. */
export function usdPrices() {
  const error = 'must be a number above 0';
  const byToken = z.record(address().schema, z.number({ error }).positive({ error }));
  const chainId = z.string().regex(/^[1-9]\d{0,14}$/, { error: 'must be a chain id' });
  const schema = z.record(chainId, byToken, { error: 'must be prices by chain id and token' });
  return { schema, value: '', expected: '', fromText: () => undefined };
}
