import { OrderBookError } from '../../errors.ts';
import { MAX_UIDS, createTooManyUidsError } from '../../orders/cancel.ts';
import { parseUid } from '../../protocol/uid.ts';
import { jsonText } from '../response.ts';
import type { Route } from '../route.ts';
import { LIST_BODY_LIMIT } from '../route.ts';

/** Returns the existing ones of up to 128 orders (contract, "POST /api/v1/orders/by_uids"). */
export const ordersByUids: Route = {
  method: 'POST',
  path: '/api/v1/orders/by_uids',
  kind: 'read',
  bodyLimit: LIST_BODY_LIMIT,
  async handle({ book, body }) {
    const uids = listOf(body);
    const elements = await book.orders.rendered.getManyBytes(uids).catch((error: unknown) => {
      throw firstBad(uids) ?? error; // each is judged when it is read; only when that fails is it worth asking which
    });
    return jsonText(200, elements);
  },
};

function listOf(body: unknown): string[] {
  if (!Array.isArray(body))
    throw new OrderBookError('InvalidBody', 'the body must be an array of order UIDs', { path: '' });
  if (body.length > MAX_UIDS) throw createTooManyUidsError(body.length);
  return body;
}

function firstBad(uids: readonly unknown[]): OrderBookError | undefined {
  const i = uids.findIndex((uid) => parseUid(uid) === undefined);
  return i < 0
    ? undefined
    : new OrderBookError('InvalidBody', `${i}: must be 0x and 112 hex digits`, { path: String(i) });
}
