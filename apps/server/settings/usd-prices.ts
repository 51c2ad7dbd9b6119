import * as z from 'zod';
import { addressSetting, jsonSetting, matching } from './types.ts';

/** Prices of whole tokens in US dollars, by chain id and token. */
export function usdPrices() {
  const error = 'must be a number above 0';
  const byToken = z.record(addressSetting().schema, z.number({ error }).positive({ error }));
  const chainId = matching(/^[1-9]\d{0,14}$/, '', 'a chain id').schema;
  return jsonSetting(z.record(chainId, byToken, { error: 'must be prices by chain id and token' }));
}
