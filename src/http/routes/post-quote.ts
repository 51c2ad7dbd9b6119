import type { QuoteRequest } from '../../quotes/request.ts';
import { json, refusal } from '../response.ts';
import type { Route } from '../route.ts';
import { BODY_LIMIT } from '../route.ts';

/** Requests a quote (contract, "POST /api/v1/quote"). */
export const postQuote: Route = {
  method: 'POST',
  path: '/api/v1/quote',
  bodyLimit: BODY_LIMIT,
  async handle({ book, body, request: { signal } }) {
    const request = body as QuoteRequest; // whatever it is, `request` reads its shape
    const result = await book.quotes.request(request, signal === undefined ? {} : { signal });
    return result.status === 'quoted' ? json(200, result.quote) : refusal(result.error);
  },
};
