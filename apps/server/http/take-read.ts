import { type ApiResponse, type Limiter, OrderBookError } from 'intentbook';
import { rejectionResponse } from '#internal';

/** Takes the tokens of a read that no interface charges. Returns the rejection of a client without enough of them. */
export async function takeRead(
  limiter: Limiter | undefined,
  client: string,
  tokens: number,
): Promise<ApiResponse | undefined> {
  const admission = await limiter?.take(client, 'read', tokens);
  if (admission?.status !== 'rejected') return undefined;
  return rejectionResponse(
    new OrderBookError('RateLimited', undefined, { retryAfter: Math.max(1, Math.ceil(admission.retryAfter ?? 1)) }),
  );
}
