import { durableEventStream, lastEventId } from '../durable-stream.ts';
import type { Route } from '../route.ts';

/**
 * Streams what happens to an owner's orders, to one, or to all that there are (decision 5.6): `order` events with the order
 * as it is now. A client that comes back with `Last-Event-ID` goes on from there.
 */
export const orderStream: Route = {
  method: 'GET',
  path: '/api/v1/orders/stream',
  stream: true,
  async handle({ book, query, request }) {
    const after = lastEventId(request);
    const filter = { ...once(query, 'owner'), ...once(query, 'uid') };
    const options = { ...(after !== undefined && { after }), ...(request.signal && { signal: request.signal }) };
    return durableEventStream(await book.orders.rendered.stream(filter, options), book.clock);
  },
};

/** A parameter that is given twice is as good as malformed. */
function once(query: URLSearchParams, name: 'owner' | 'uid'): { owner?: string; uid?: string } {
  const values = query.getAll(name);
  return values.length === 0 ? {} : { [name]: values.join() };
}
