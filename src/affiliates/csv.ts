import { toCsvLine } from '../account-tools/csv-line.ts';

/** Members of a row of the activity that are columns. */
const COLUMNS = [
  'chain_id',
  'creation_date',
  'tx_hash',
  'order_uid',
  'trader_address',
  'sell_token',
  'buy_token',
  'sell_token_symbol',
  'buy_token_symbol',
  'executed_sell_amount',
  'executed_buy_amount',
  'usd_value',
  'eligible_volume_usd',
  'referrer_code',
  'bound_referrer_code',
  'eligibility_reason',
  'is_bound_to_code',
  'is_eligible',
] as const;

/** Format of the activity of a trader. Members of an external source that are no texts or numbers are left out. */
export const ACTIVITY_CSV = {
  header: /* @__PURE__ */ toCsvLine(COLUMNS),
  toLine: (row: unknown): string => toCsvLine(COLUMNS.map((name) => toField(row, name))),
};

function toField(row: unknown, name: string): string | number | boolean | null {
  const value: unknown = typeof row === 'object' && row !== null ? Reflect.get(row, name) : null;
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? value : null;
}
