import * as z from 'zod';
import { inGroup, type SettingTable } from './setting.ts';
import { addressSetting, fileSetting, integerSetting } from './types.ts';

const ppm = integerSetting(0, 999_999).schema;
const orders = z.enum(['any', 'inMarket', 'outOfMarket']).optional();
const bucket = z.strictObject({ tokens: z.array(addressSetting().schema).readonly(), factor: ppm });
const policy = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('volume'),
    factor: ppm,
    buckets: z.array(bucket).readonly().optional(),
    equalTokens: z.boolean().optional(),
    orders,
  }),
  z.strictObject({ kind: z.enum(['surplus', 'priceImprovement']), factor: ppm, maxVolumeFactor: ppm, orders }),
]);
const protocolFees = z.array(policy).readonly();

/** The schema of fee policies, and of those that replace them at a time. */
export const feePolicies = z.strictObject({
  protocolFees,
  upcomingFees: z
    .strictObject({
      from: z.iso.datetime({ offset: true, error: 'must be a date and a time, such as 2027-01-01T00:00:00Z' }),
      protocolFees,
      maxPartnerFee: ppm.optional(),
    })
    .optional(),
});

/** Fee policies as they are configured. */
export type FeePolicySetting = z.output<typeof feePolicies>;

function policiesOrFile() {
  const expected = 'fee policies, or the name of a file with them';
  const schema = z.union([fileSetting(expected).schema, feePolicies], { error: `must be ${expected}` });
  return { schema, value: '<file>', expected: 'a file name', fromText: (file: string) => file };
}

/** Settings of the fees of a book. */
export const FEE_SETTINGS = {
  ...inGroup('Orders', {
    maxPartnerFee: {
      type: integerSetting(0, 999_999, '<ppm>'),
      help: 'Maximum total of the partner fees of an order, in parts per million of its volume.',
      default: 10_000,
    },
  }),
  ...inGroup('Quotes', {
    volumeFee: {
      type: integerSetting(0, 999_999, '<ppm>'),
      help: 'Fee on the volume of orders, in parts per million. Quotes contain it; auctions show it to solvers.',
      defaultText: 'none',
    },
  }),
  ...inGroup('Orders', {
    feePolicies: {
      type: policiesOrFile(),
      help:
        'Fee policies, or the name of a JSON file with them: `{ "protocolFees", "upcomingFees" }`. They replace ' +
        '`volumeFee`.',
      defaultText: 'none',
    },
  }),
} as const satisfies SettingTable;
