import * as z from 'zod';
import { integerSetting, jsonSetting, matching } from './types.ts';

/** API keys with their budgets. */
export function apiKeys() {
  const schema = z.array(keySchema(), { error: 'must be a list of API keys' }).superRefine((keys, context) => {
    for (const member of ['name', 'hash'] as const) {
      const first = new Map<string, number>();
      keys.forEach((key, i) => {
        const other = first.get(key[member]);
        if (other === undefined) first.set(key[member], i);
        else context.addIssue({ code: 'custom', path: [i, member], message: `must differ from that of key ${other}` });
      });
    }
  });
  return jsonSetting(schema);
}

/** Valid names of API keys. They occur in logs. */
export const KEY_NAME = /^[\w.-]{1,64}$/;

export const KEY_NAME_TEXT = '1 to 64 letters, digits, ".", "_" and "-"';

function keySchema() {
  const name = matching(KEY_NAME, '', KEY_NAME_TEXT).schema.describe('Name of the key, for logs.');
  const hash = matching(/^[0-9a-f]{64}$/, '', 'the SHA-256 of a key, as 64 hex digits').schema.describe(
    'SHA-256 of the key.',
  );
  return z.strictObject(
    {
      name,
      hash,
      reads: rate('Reads of this key. Default: those of `rateLimit`.'),
      writes: rate('Writes and quotes of this key. Default: those of `rateLimit`.'),
      streams: integerSetting(0, MAX)
        .schema.describe('Open event streams of this key. Default: those of `rateLimit`.')
        .optional(),
    },
    { error: 'must be { "name", "hash" }, with "reads", "writes" and "streams" on request' },
  );
}

const MAX = 1_000_000;

function rate(description: string) {
  const { schema: number } = integerSetting(1, MAX);
  const perSecond = number.describe('Tokens per second.');
  const burst = number.describe('Size of the bucket. Default: five seconds of the rate.').optional();
  return z
    .strictObject({ perSecond, burst }, { error: 'must be { "perSecond" }, with "burst" on request' })
    .describe(description)
    .optional();
}
