import * as z from 'zod';
import { isIpRange, parseDecimal, parseHex } from '#internal';
import type { SettingType, Ungrouped } from './setting.ts';

const ADDRESS = '0x and 40 hex digits';
const CONNECTION = 'a connection string: postgres://user:password@host:5432/database';

/** Text that the schema validates. `expected` describes it. */
function textSetting<S extends z.ZodType>(schema: S, value: string, expected: string): SettingType<S> {
  return { schema, value, expected, fromText: (text) => text };
}

const plainText = (error = 'must be text') => z.string({ error }).min(1, { error: 'must not be empty' });

/** A value that has no text form: it is set in a configuration file only. */
export function jsonSetting<S extends z.ZodType>(schema: S) {
  return { schema, value: '', expected: '', fromText: () => undefined };
}

/** Any text that is not empty. */
export const plainTextSetting = (value: string, expected: string) => textSetting(plainText(), value, expected);

export const matching = (pattern: RegExp, value: string, expected: string) => {
  const error = `must be ${expected}`;
  return textSetting(z.string({ error }).regex(pattern, { error }), value, expected);
};

/** The name of a file. A URL and a word that switches a setting are not: SQLite would create a file with this name. */
export const fileSetting = (expected = 'a file name', value = '<file>') => {
  const type = matching(/^(?!(?:on|off|true|false|yes|no)$|[a-z][a-z\d+.-]*:\/\/)./is, value, expected);
  // A secret of a file ends with a line feed, which would be a part of the name of a new, empty database.
  const schema = type.schema.refine((name) => name.trim() === name && !/\p{Cc}/u.test(name), {
    error: `must be ${expected}, without space around it and control characters`,
  });
  return { ...type, schema };
};

/** The location of an account store: a file, `:memory:`, a connection string or `off`. */
export const storeLocation = () => {
  const expected = 'a file name, ":memory:", a connection string or "off"';
  const error = `must be ${expected}`;
  const schema = z.union([z.literal('off'), connection().schema, fileSetting().schema], { error });
  return textSetting(schema, '<location>', expected);
};

export const addressSetting = () => ({
  ...matching(/^0x[0-9a-fA-F]{40}$/, '<address>', ADDRESS),
  fromText: (given: string) => parseHex(given, 20),
});

export const connection = () => matching(/^postgres(ql)?:\/\//, '<url>', CONNECTION);

export const url = (pattern: RegExp, expected: string) => {
  const type = matching(pattern, '<url>', expected);
  const schema = type.schema.refine((given) => URL.canParse(given), { error: `must be ${expected}` });
  return { ...type, schema };
};

export const httpUrl = () => url(/^https?:\/\/[^/]/, 'an http or https URL');

/** A URL to which paths are appended. */
export const baseUrl = () =>
  url(/^https?:\/\/[^/?#\s][^?#\s]*$/, 'an http or https URL without a query and a fragment');

/** A URL that is requested as it is: `fetch` rejects credentials in it, and its message repeats them. */
export const plainHttpUrl = () =>
  url(/^https?:\/\/[^/?#@\s]+([/?#]|$)/, 'an http or https URL without a user name and a password');

export const email = () => {
  const expected = 'a mail address, such as books@example.org';
  return textSetting(z.email({ error: `must be ${expected}` }), '<address>', expected);
};

/** A decimal number as text. */
export const decimalSetting = (value: string, expected: string) => {
  const error = `must be ${expected}`;
  return textSetting(
    z.string({ error }).refine((given) => parseDecimal(given) !== undefined, { error }),
    value,
    expected,
  );
};

/** A price: a decimal number, or a number with the decimals of its token. */
export const price = () =>
  z.union(
    [
      decimalSetting('', 'a decimal number').schema,
      z.strictObject({ price: decimalSetting('', 'a decimal number').schema, decimals: integerSetting(0, 255).schema }),
    ],
    { error: 'must be a decimal number as text, or { "price", "decimals" }' },
  );

/** An integer in a range. `value` names its unit. */
export const integerSetting = (
  least: number,
  most = Number.MAX_SAFE_INTEGER,
  value = '<number>',
  unit = 'an integer',
) => {
  const expected = `${unit} ${rangeText(least, most)}`;
  return { schema: integerIn(least, most, expected), value, expected, fromText: parseInteger };
};

export const integerOrOff = (least: number, most = Number.MAX_SAFE_INTEGER, value = '<number>') => {
  const expected = `an integer ${rangeText(least, most)}, or "off"`;
  const schema = z.union([integerIn(least, most, expected), z.literal('off')], { error: `must be ${expected}` });
  return { schema, value, expected, fromText: (given: string) => (given === 'off' ? given : parseInteger(given)) };
};

function integerIn(least: number, most: number, expected: string) {
  const error = `must be ${expected}`;
  return z.int({ error }).min(least, { error }).max(most, { error });
}

function rangeText(least: number, most: number): string {
  return most === Number.MAX_SAFE_INTEGER ? `from ${least} up` : `from ${least} to ${most}`;
}

/** Limits of single owners, by address. */
export const ownerLimits = () => {
  const limit = integerIn(0, Number.MAX_SAFE_INTEGER, 'an integer from 0 up, or null').nullable().exactOptional();
  const error = 'must be { "maxOpenOrders", "maxPendingOrders" } by address';
  return jsonSetting(
    z.record(addressSetting().schema, z.strictObject({ maxOpenOrders: limit, maxPendingOrders: limit }, { error }), {
      error,
    }),
  );
};

export const accountNames = () =>
  jsonSetting(z.record(addressSetting().schema, plainText(), { error: 'must be names by address' }));

/** Images of tokens, by address. */
export const tokenLogos = () => {
  const error = 'must be a data URL of an image in base64';
  const image = z.string({ error }).regex(/^data:image\/(?:png|jpeg|gif|webp|svg\+xml);base64,[\w+/]+=*$/, { error });
  return jsonSetting(z.record(addressSetting().schema, image, { error: 'must be images by address' }));
};

/** A boolean, typed as on or off. */
export const onOff = () => ({
  schema: z.boolean({ error: 'must be true or false' }),
  value: 'on|off',
  names: ['on', 'off'],
  expected: '"on" or "off"',
  fromText: (given: string) => ({ on: true, off: false })[given],
  toText: (value: boolean) => (value ? 'on' : 'off'),
});

/** A boolean whose flag may have no value. */
export const onOffAlone = () => ({ ...onOff(), alone: true });

export const enumSetting = <const T extends readonly [string, ...string[]]>(...names: T) => {
  const expected = `one of ${names.join(', ')}`;
  return { ...textSetting(z.enum(names, { error: `must be ${expected}` }), names.join('|'), expected), names };
};

/** A list of texts, typed with commas or blanks between its elements. */
function listSetting<S extends z.ZodType>(schema: S, value: string, expected: string) {
  return { schema, value, expected, fromText: splitList, toText: (list: readonly string[]) => list.join(',') };
}

/** A list of elements with a schema. `things` names them. */
function listOf<S extends z.ZodType>(element: S, things: string) {
  return z.array(element, { error: `must be a list of ${things}` });
}

/** A list of one or more URLs. `kind` describes a URL. */
function urlsSetting<S extends z.ZodType>(element: S, kind: string) {
  const schema = listOf(element, 'URLs').min(1, { error: 'must be a list of URLs' }).readonly();
  return listSetting(schema, '<urls>', `one or more ${kind} URLs, separated by commas`);
}

export const httpUrls = () => urlsSetting(httpUrl().schema, 'http or https');

export const natsUrls = () => urlsSetting(url(/^(?:nats|tls):\/\/[^/]/, 'a nats or tls URL').schema, 'nats or tls');

export const ipRanges = () => {
  const range = plainText().refine(isIpRange, { error: 'must be an address or a range, as 10.0.0.0/8' });
  const expected = 'addresses or ranges, separated by commas, as in 127.0.0.1,10.0.0.0/8';
  return listSetting(listOf(range, 'addresses').readonly(), '<ranges>', expected);
};

const addressList = () => listOf(addressSetting().schema, 'addresses').readonly();

export const addresses = () => listSetting(addressList(), '<addresses>', 'addresses, separated by commas');

export const hashes = () => {
  const hash = plainText().regex(/^0x[0-9a-fA-F]{64}$/, { error: 'must be 0x and 64 hex digits' });
  return listSetting(listOf(hash, 'hashes').readonly(), '<hashes>', 'hashes, separated by commas');
};

/** Addresses, or the name of a file with them. A text that begins with `0x` is a list. */
export const addressesOrFile = () => {
  const expected = 'a list of addresses, or the name of a file with them';
  const error = `must be ${expected}`;
  return {
    schema: z.union([addressList(), fileSetting(expected).schema], { error }),
    value: '<addresses|file>',
    expected: 'addresses separated by commas, or a file name',
    fromText: (text: string) => (/^\s*0x/i.test(text) ? splitList(text) : text),
  };
};

/** An object. Each member is a setting with its own flag. All members are required. */
export function objectSetting<const P extends Readonly<Record<string, Ungrouped>>>(parts: P) {
  return { ...jsonSetting(createObject(parts)), parts };
}

/** An object whose members are optional. */
export function partialSetting<const P extends Readonly<Record<string, Ungrouped>>>(parts: P) {
  return { ...jsonSetting(createObject(parts).partial()), parts, partial: true };
}

function createObject<P extends Readonly<Record<string, Ungrouped>>>(parts: P) {
  const names = Object.keys(parts).map((key) => `"${key}"`);
  return z.strictObject(getSchemas(parts), { error: `must be { ${names.join(', ')} }` });
}

function getSchemas<P extends Readonly<Record<string, Ungrouped>>>(parts: P) {
  const entries = Object.entries(parts).map(([key, { type, help }]) => [key, type.schema.describe(help)]);
  return Object.fromEntries(entries) as { [K in keyof P]: P[K]['type']['schema'] }; // the same keys
}

function splitList(given: string): string[] {
  return given.trim().split(/\s*,\s*|\s+/);
}

function parseInteger(given: string): number | undefined {
  return /^\d{1,16}$/.test(given) ? Number(given) : undefined;
}

/** Reads and writes per second, and open streams: `50,10,32`. */
export const rateLimit = () => {
  const rate = integerSetting(1, 1_000_000).schema;
  const limits = z.strictObject({ reads: rate, writes: rate, streams: rate });
  const expected = 'three integers from 1 up, as in 50,10,32, or "off"';
  return {
    schema: z.union([z.literal('off'), limits], { error: 'must be { "reads", "writes", "streams" }, or "off"' }),
    value: '<numbers>',
    expected,
    fromText(given: string) {
      if (given === 'off') return given;
      const [reads, writes, streams, ...more] = splitList(given).map(parseInteger);
      return more.length > 0 ? undefined : { reads, writes, streams };
    },
    toText: (value: object) => Object.values(value).join(),
  };
};
