import { createHash, randomBytes } from 'node:crypto';
import { type ApiRequest, type ApiResponse, OrderBookError, type RateLimitOptions } from 'intentbook';
import { createClientResolver, jsonResponse, takeRead } from '#internal';
import type { ParsedSettings } from '../settings/schema.ts';

/** An API key of the configuration. Members of its budget that are absent are those of `rateLimit`. */
export type ApiKey = ParsedSettings['apiKeys'][number];

const HEADER = 'x-api-key';

/** The prefix lets scanners of source code find a key that was published. */
const PREFIX = 'intentbook_';
const FORM = /^intentbook_[\w-]{43}$/;

/** Creates a random key of 256 bits. */
export function createKey(): string {
  return PREFIX + randomBytes(32).toString('base64url');
}

/** Returns the hash of a key. A slow hash is not necessary, because a key of 256 random bits cannot be guessed. */
export function hashKey(key: string): string {
  return createHash('sha256').update(key).digest('hex');
}

/** Returns the client of a key. An address cannot have this form. */
export function toKeyClient(name: string): string {
  return `key ${name}`;
}

/** Finds the key of a request, whose client is `undefined` if it is not configured. `undefined` without a key. */
export type KeyCheck = (request: ApiRequest) => { readonly client: string | undefined } | undefined;

/** Creates the check of the configured keys. Without keys, the header has no meaning. */
export function createKeyCheck(keys: readonly ApiKey[]): KeyCheck {
  if (keys.length === 0) return () => undefined;
  const clients = new Map(keys.map(({ name, hash }) => [hash, toKeyClient(name)]));
  return ({ header }) => {
    const key = header(HEADER);
    if (key === undefined) return undefined;
    return { client: FORM.test(key) ? clients.get(hashKey(key)) : undefined };
  };
}

/** Rejects a request whose key is not configured. `undefined`: the request is served. */
export type KeyGuard = (request: ApiRequest) => Promise<ApiResponse | undefined>;

/** Creates the guard of a server. A guess is charged to its address, as a read. */
export function createKeyGuard(check: KeyCheck, { limiter, trustedProxies = [] }: RateLimitOptions): KeyGuard {
  const getAddress = createClientResolver(trustedProxies);
  return async (request) => {
    const key = check(request);
    if (key === undefined || key.client !== undefined) return undefined;
    return (
      (await takeRead(limiter, getAddress(request))) ??
      jsonResponse(401, new OrderBookError('Forbidden', 'the API key in X-API-Key is not known'))
    );
  };
}
