import type { QuoteRequest } from '../../protocol/quote-request.ts';
import type { QuoteStreamEvent } from '../../quotes/index.ts';
import { ESTIMATE } from '../cost.ts';
import { jsonResponse, rejectionResponse } from '../message.ts';
import { BODY_LIMIT, cancellable, type Route } from '../route.ts';
import type { ServerSentEvent } from '../sse.ts';

const requestQuote: Route = {
  method: 'POST',
  path: '/api/v1/quote',
  cost: ESTIMATE,
  bodyLimit: BODY_LIMIT,
  async handle({ book, body, request }) {
    const result = await book.quotes.request(body as QuoteRequest, cancellable(request)); // `request` validates
    return result.status === 'quoted' ? jsonResponse(200, result.quote) : rejectionResponse(result.error);
  },
};

/**
 * Streams quotes: an unnamed event for each quote that is better than all before, or one `error` event if there is
 * none. A request that is rejected before quoting gets an ordinary error response.
 */
const streamQuotes: Route = {
  method: 'POST',
  path: '/api/v1/quote/stream',
  cost: ESTIMATE,
  stream: true,
  bodyLimit: BODY_LIMIT,
  async handle({ book, body, request }) {
    const result = await book.quotes.stream(body as QuoteRequest, cancellable(request)); // `stream` validates
    if (result.status === 'rejected') return rejectionResponse(result.error);
    const { eventStream } = await import('../sse.ts');
    return eventStream(result.quotes, toServerSentEvent, book.clock);
  },
};

export const QUOTE_ROUTES: readonly Route[] = [requestQuote, streamQuotes];

function toServerSentEvent(event: QuoteStreamEvent): ServerSentEvent {
  return event.type === 'quote'
    ? { data: JSON.stringify(event.quote) }
    : { event: 'error', data: JSON.stringify(event.error) };
}
