import type { QuoteStreamEvent } from '../../quotes/quote-stream.ts';
import type { QuoteRequest } from '../../quotes/request.ts';
import { rejectionResponse } from '../response.ts';
import type { Route } from '../route.ts';
import { BODY_LIMIT } from '../route.ts';
import type { ServerSentEvent } from '../sse.ts';
import { eventStream } from '../sse.ts';

/**
 * Requests quotes as they come in: an unnamed event for each that is better than all before it, or, when there was
 * none, one `error` event. What can be rejected without a quote is rejected as an ordinary answer.
 */
export const quoteStream: Route = {
  method: 'POST',
  path: '/api/v1/quote/stream',
  stream: true,
  bodyLimit: BODY_LIMIT,
  async handle({ book, body, request: { signal } }) {
    const request = body as QuoteRequest; // whatever it is, `stream` reads its shape
    const result = await book.quotes.stream(request, signal === undefined ? {} : { signal });
    if (result.status === 'rejected') return rejectionResponse(result.error);
    return eventStream(result.quotes, textOf, { clock: book.clock });
  },
};

function textOf(event: QuoteStreamEvent): ServerSentEvent {
  return event.type === 'quote'
    ? { data: JSON.stringify(event.quote) }
    : { event: 'error', data: JSON.stringify(event.error) };
}
