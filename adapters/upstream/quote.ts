import type { UpstreamQuote } from 'intentbook';
import { addZone } from '#internal';
import type { CallResult } from './connection.ts';
import { isObject, parseUpstreamInteger } from './parse-order.ts';

type QuoteBody = Extract<UpstreamQuote, { readonly status: 'quoted' }>['quote'];

/** Parses a quote response. Its `id` is a counter of the other book, or null. An expiry without a zone is in UTC. */
export function parseQuote(body: unknown): QuoteBody | undefined {
  if (!isObject(body) || !isObject(body['quote'])) return undefined;
  const { expiration } = body;
  const zoned = typeof expiration === 'string' ? { expiration: addZone(expiration) } : {};
  return { ...body, ...zoned, id: parseUpstreamInteger(body['id']) ?? null };
}

/** Converts the result of a quote request. */
export function toQuote(result: CallResult): UpstreamQuote {
  switch (result.outcome) {
    case 'ok': {
      const quote = parseQuote(result.body);
      return quote === undefined
        ? { status: 'failed', reason: 'the response is not a quote' }
        : { status: 'quoted', quote };
    }
    case 'rejected':
      return result.rejection;
    case 'blocked':
      return result.block;
    case 'lost':
      return { status: 'failed', reason: result.reason };
  }
}
