import * as z from 'zod/mini';
import { type AppData, EMPTY_DOCUMENT } from './app-data.ts';
import { formatValue } from './format-value.ts';
import { UID_SIZE } from './hex.ts';
import { isNestedDeeper, MAX_JSON_DEPTH } from './json.ts';
import { type FeePolicy, type Metadata, NO_METADATA, type PartnerFee } from './metadata.ts';
import { epochSeconds, firstShapeError, hex, hexSchema, SHAPE_TEXTS } from './shape.ts';
import { parseUint256 } from './uint256.ts';

const address = /* @__PURE__ */ hexSchema(20);

/**
 * Creates the schema of a decimal string below a bound. Numbers are not accepted, because they may have lost digits.
 */
function decimal(bound: bigint, what: string) {
  const read = z.transform((text: string, context): bigint => {
    const value = parseUint256(text);
    if (typeof value === 'bigint' && value < bound) return value;
    context.issues.push({ code: 'custom', message: `must be decimal digits of ${what}`, input: text });
    return z.NEVER;
  });
  return z.pipe(z.string(), read);
}

/** As in production, the amount of a loan may be hex. */
const decimalOrHex = /* @__PURE__ */ z.pipe(
  z.transform((text: string) => (/^0x[0-9a-fA-F]{1,64}$/.test(text) ? String(BigInt(text)) : text)),
  decimal(1n << 256n, 'a uint256'),
);

const basisPoints = /* @__PURE__ */ z
  .number()
  .check(
    z.refine((value) => Number.isSafeInteger(value) && value >= 0, { error: 'must be a whole number of basis points' }),
  );

const hook = /* @__PURE__ */ z.object({ target: address, callData: hex(), gasLimit: decimal(1n << 64n, 'a uint64') });

/** The valid combinations of fee keys, and their conversion. */
const FEE_FORMS: Readonly<Record<string, (fee: FeeShape) => FeePolicy>> = {
  bps: ({ bps }) => ({ kind: 'volume', bps }),
  volumeBps: ({ volumeBps }) => ({ kind: 'volume', bps: volumeBps }),
  'surplusBps,maxVolumeBps': ({ surplusBps, maxVolumeBps }) => ({ kind: 'surplus', bps: surplusBps, maxVolumeBps }),
  'priceImprovementBps,maxVolumeBps': ({ priceImprovementBps, maxVolumeBps }) => ({
    kind: 'priceImprovement',
    bps: priceImprovementBps,
    maxVolumeBps,
  }),
};

const FEE_KEYS = ['bps', 'volumeBps', 'surplusBps', 'priceImprovementBps', 'maxVolumeBps'] as const;
type FeeShape = Readonly<Record<(typeof FEE_KEYS)[number], number>>;

const feeShape = /* @__PURE__ */ z.object({
  recipient: address,
  bps: z.optional(basisPoints),
  volumeBps: z.optional(basisPoints),
  surplusBps: z.optional(basisPoints),
  priceImprovementBps: z.optional(basisPoints),
  maxVolumeBps: z.optional(basisPoints),
});

const partnerFee = /* @__PURE__ */ z.pipe(
  feeShape,
  /* @__PURE__ */ z.transform(({ recipient, ...fee }: z.output<typeof feeShape>, context): PartnerFee => {
    const read = FEE_FORMS[FEE_KEYS.filter((key) => fee[key] !== undefined).join()];
    if (read !== undefined) return { recipient, ...read(fee as FeeShape) }; // the keys of this form are present
    context.issues.push({
      code: 'custom',
      message: 'must have volumeBps, or maxVolumeBps with either surplusBps or priceImprovementBps',
      input: fee,
    });
    return z.NEVER;
  }),
);

const metadata = /* @__PURE__ */ z.object({
  hooks: z.optional(z.object({ pre: z._default(z.array(hook), []), post: z._default(z.array(hook), []) })),
  signer: z.nullish(address),
  replacedOrder: z.nullish(z.object({ uid: hexSchema(UID_SIZE) })),
  partnerFee: z.optional(z.array(partnerFee)),
  flashloan: z.nullish(
    z.object({
      liquidityProvider: address,
      protocolAdapter: address,
      receiver: address,
      token: address,
      amount: z.pipe(z.string(), decimalOrHex),
    }),
  ),
  wrappers: z.optional(z.array(z.object({ address, data: hex(), isOmittable: z._default(z.boolean(), false) }))),
  enableFastPath: z.optional(z.unknown()),
  validFrom: z.nullish(epochSeconds()),
});

/**
 * Parses the protocol's keys; other keys are ignored. A key of the wrong type makes the whole document invalid, even if
 * the key does not apply to the order.
 *
 * @param name - The name of the object in its document, for messages.
 * @returns The metadata, or the name of the first invalid key with the reason.
 */
function parseMetadata(given: unknown, name: string): Metadata | string {
  const value = withFeesAsList(given);
  const result = metadata.safeParse(value, SHAPE_TEXTS);
  if (!result.success) {
    const { path, reason } = firstShapeError(result.error);
    return `${path === '' ? name : `${name}.${path}`} ${reason}`;
  }
  const { hooks, signer, replacedOrder, partnerFee: partnerFees, flashloan, wrappers, validFrom } = result.data;
  return {
    hooks: hooks ?? NO_METADATA.hooks,
    signer: signer ?? undefined,
    replacedOrder: replacedOrder?.uid,
    partnerFees: partnerFees ?? [],
    flashloan: flashloan ?? undefined,
    wrappers: wrappers ?? [],
    validFrom: validFrom ?? undefined,
    fastPath: result.data.enableFastPath === true,
  };
}

/** Wraps a single fee into a list. */
function withFeesAsList(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || !('partnerFee' in value)) return value;
  const { partnerFee: fee } = value;
  if (typeof fee !== 'object' || fee === null || Array.isArray(fee)) return value;
  return { ...value, partnerFee: [fee] };
}

/** Matches an unpaired surrogate: such text has no UTF-8 form, and so no hash. */
const LONE_SURROGATE = /[\ud800-\udfff]/u;

/**
 * Parses the protocol's keys of a document: those of `metadata`, otherwise of `backend`. Unknown keys are ignored. See
 * docs/internals/decisions.md#d2-17.
 *
 * @returns The values, or the reason why the document is not valid.
 */
export function parseAppData(document: string): AppData | string {
  if (document === EMPTY_DOCUMENT) return NO_METADATA;
  if (LONE_SURROGATE.test(document)) return 'the document is not well-formed Unicode';
  if (isNestedDeeper(document, MAX_JSON_DEPTH)) return `the document is nested deeper than ${MAX_JSON_DEPTH}`;
  let root: unknown;
  try {
    root = JSON.parse(document);
  } catch {
    // As no object.
  }
  if (!isObject(root)) return `the app data must be a JSON object, got ${formatValue(document)}`;
  const name = isPresent(root['metadata']) ? 'metadata' : 'backend';
  const metadata = root[name];
  return isPresent(metadata) ? parseMetadata(metadata, name) : NO_METADATA;
}

function isPresent(value: unknown): boolean {
  return value !== undefined && value !== null;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
