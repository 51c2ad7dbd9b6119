import type { QuoteRequest } from '../../quotes/request.ts';
import { jsonResponse, rejectionResponse } from '../response.ts';
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
    return result.status === 'quoted' ? jsonResponse(200, result.quote) : rejectionResponse(result.error);
  },
};
