import { OrderBookError } from '../errors.ts';
import type { Limiter } from '../ports/limiter.ts';
import { type ApiRequest, type ApiResponse, rejectionResponse } from './message.ts';
import type { RateLimitOptions } from './rate-limit.ts';
import { createRequestClient } from './request-client.ts';

/** Bytes of a page that one token of a client pays for. */
const BYTES_PER_TOKEN = 65_536;

/** Takes the token of a read that no interface charges. Returns the rejection of a client without one. */
export async function takeRead(limiter: Limiter | undefined, client: string): Promise<ApiResponse | undefined> {
  const admission = await limiter?.take(client, 'read', 1);
  if (admission?.status !== 'rejected') return undefined;
  return rejectionResponse(
    new OrderBookError('RateLimited', undefined, { retryAfter: Math.max(1, Math.ceil(admission.retryAfter ?? 1)) }),
  );
}

/** Charges a page that is the same for all clients: one read for 64 KiB. */
export function chargePage(
  page: (request: ApiRequest) => Promise<ApiResponse> | ApiResponse,
  rateLimit: RateLimitOptions,
): (request: ApiRequest) => Promise<ApiResponse> | ApiResponse {
  const { limiter } = rateLimit;
  if (limiter === undefined) return page;
  const getClient = createRequestClient(rateLimit);
  return async (request) => {
    const client = getClient(request);
    const rejection = await takeRead(limiter, client);
    if (rejection !== undefined) return rejection;
    const response = await page(request);
    const { body } = response;
    const length = typeof body === 'string' || body instanceof Uint8Array ? body.length : 0;
    if (length > BYTES_PER_TOKEN) await limiter.charge?.(client, 'read', Math.ceil(length / BYTES_PER_TOKEN) - 1);
    return response;
  };
}
