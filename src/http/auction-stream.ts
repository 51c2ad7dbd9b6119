import type { RenderedAuctionChange } from '../auctions/index.ts';
import { countRows } from '../concurrency/abort.ts';
import type { ApiResponse } from './message.ts';
import type { Call } from './route.ts';
import { lastEventId, streamResponse } from './sse.ts';

/**
 * Creates a response that streams auctions. Each event has the id of its auction.
 *
 * @throws OrderBookError `InvalidParameter` if `Last-Event-ID` is malformed.
 */
export async function auctionStream({ book, request, work }: Call): Promise<ApiResponse> {
  const after = lastEventId(request);
  const { signal } = request;
  const options = { ...(after !== undefined && { after }), ...(signal !== undefined && { signal }) };
  const stream = await book.auctions.rendered.stream(options);
  const changes = stream[Symbol.asyncIterator]();
  const parts: string[] = [];
  return streamResponse(
    {
      async next() {
        if (parts.length === 0) {
          const result = await changes.next();
          if (result.done === true) return undefined;
          countRows(work, result.value.rows);
          parts.push(...encodeChange(result.value));
        }
        return parts.shift();
      },
      close: stream.leave,
    },
    book.clock,
  );
}

function encodeChange({ id, type, json }: RenderedAuctionChange): readonly string[] {
  return [`id: ${id}\nevent: ${type}\ndata: `, ...json, '\n\n'];
}
