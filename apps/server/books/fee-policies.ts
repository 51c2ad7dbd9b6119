import { type Address, type AuctionOptions, type FeePolicyOption, systemClock } from 'intentbook';
import { NATIVE_MARKER } from '#internal';
import { readJsonc } from '../config/jsonc.ts';
import { type FeePolicySetting, feePolicies } from '../settings/fee-settings.ts';
import type { ParsedBookSettings } from '../settings/schema.ts';

/** The fee options of a book. */
export type Fees = Required<Pick<AuctionOptions, 'protocolFees'>> & Pick<AuctionOptions, 'upcomingFees'>;

/**
 * Returns the fee options of a book.
 *
 * @throws TypeError naming the problem of the file, or for `volumeFee` together with `feePolicies`.
 */
export async function readFees({
  volumeFee,
  feePolicies: given,
}: Pick<ParsedBookSettings, 'volumeFee' | 'feePolicies'>): Promise<Fees> {
  if (given === undefined)
    return { protocolFees: volumeFee === undefined ? [] : [{ kind: 'volume', factor: volumeFee }] };
  if (volumeFee !== undefined) throw new TypeError('volumeFee must not be given together with feePolicies');
  const { protocolFees, upcomingFees } = typeof given === 'string' ? await readPolicies(given) : given;
  // The schema has validated the members. Absent members are absent, not undefined.
  const fees = { protocolFees: protocolFees as readonly FeePolicyOption[] };
  if (upcomingFees === undefined) return fees;
  const upcoming = { ...upcomingFees, from: Math.floor(Date.parse(upcomingFees.from) / 1000) };
  return { ...fees, upcomingFees: upcoming as NonNullable<Fees['upcomingFees']> };
}

async function readPolicies(file: string): Promise<FeePolicySetting> {
  const name = `the file of fee policies ${file}`;
  const parsed = feePolicies.safeParse(await readJsonc(name, file));
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new TypeError(`${name}: ${issue?.path.join('.')} ${issue?.message}`);
}

/**
 * Returns the volume fee of quotes by token pair, in parts per million: the sum of the volume policies for orders in
 * the market. `undefined` if there is none for the pair.
 */
export function createVolumeFee(
  { protocolFees, upcomingFees }: Fees,
  wrappedNative: string | undefined,
  clock: { now(): number } = systemClock,
): ((sellToken: Address, buyToken: Address) => number | undefined) | undefined {
  const all = [...protocolFees, ...(upcomingFees?.protocolFees ?? [])];
  if (!all.some(({ kind }) => kind === 'volume')) return undefined;
  return (sellToken, buyToken) => {
    const isSame = sellToken === buyToken || (sellToken === wrappedNative?.toLowerCase() && buyToken === NATIVE_MARKER);
    const isUpcoming = upcomingFees !== undefined && clock.now() >= upcomingFees.from * 1000;
    const factors = (isUpcoming ? upcomingFees.protocolFees : protocolFees).flatMap((each) =>
      getFactors(each, [sellToken, buyToken], isSame),
    );
    // A factor of 0 is a fee, which the quote shows.
    return factors.length === 0 ? undefined : factors.reduce((sum, factor) => sum + factor);
  };
}

function getFactors(policy: FeePolicyOption, pair: readonly Address[], isSame: boolean): readonly number[] {
  if (policy.kind !== 'volume' || policy.orders === 'outOfMarket') return [];
  if (isSame && policy.equalTokens !== true) return [];
  const bucket = policy.buckets?.find(({ tokens }) => {
    const listed = tokens.map((token) => token.toLowerCase());
    return pair.every((token) => listed.includes(token));
  });
  return [bucket?.factor ?? policy.factor];
}
