import type { FindDocument } from '../admission/documents.ts';
import { createDeadlineLimiter, QueueFullError } from '../concurrency/abort.ts';
import { setBounded } from '../concurrency/bounded-map.ts';
import { createRequestCoalescer } from '../concurrency/coalesce.ts';
import { OrderBookError } from '../errors.ts';
import { type Clock, isRecent, readMonotonic } from '../ports/clock.ts';
import type { DocumentSource } from '../ports/document-source.ts';
import { appDataHash } from '../protocol/app-data.ts';
import type { Hex } from '../protocol/hex.ts';

interface Entry {
  /** `undefined`: the source does not have the document. */
  readonly text: string | undefined;
  /** Milliseconds of `readMonotonic`. */
  readonly at: number;
}

/** Milliseconds for which a result is cached. A missing document may be published at any time. */
const [FOUND_TTL, MISSING_TTL] = [600_000, 60_000];

const getTtl = (text: string | undefined) => (text === undefined ? MISSING_TTL : FOUND_TTL);

/** Maximum number of cached results; the oldest are dropped first. */
const MAX_ENTRIES = 500;

/** Maximum number of queries that wait, since every client can name any hash. */
const MAX_WAITING = 64;

const encoder = /* @__PURE__ */ new TextEncoder();

/**
 * Creates the queries to a document source: verified, cached, with a deadline and at most four at a time.
 *
 * @param options.timeout - Milliseconds that a query may take.
 * @param options.maxBytes - Maximum size of a document in bytes.
 */
export function createDocumentFinder(
  source: DocumentSource,
  {
    clock,
    timeout,
    maxBytes,
    onFailure,
  }: { clock: Clock; timeout: number; maxBytes: number; onFailure: (failure: unknown) => void },
): FindDocument {
  const remote = createDeadlineLimiter(clock, timeout);
  const share = createRequestCoalescer();
  const entries = new Map<Hex, Entry>();

  function read(hash: Hex): Entry | undefined {
    const entry = entries.get(hash);
    return entry !== undefined && isRecent(clock, entry.at, getTtl(entry.text)) ? entry : undefined;
  }

  function write(hash: Hex, text: string | undefined): void {
    setBounded(entries, hash, { text, at: readMonotonic(clock) }, MAX_ENTRIES);
  }

  async function query(hash: Hex, queue: string): Promise<string | undefined> {
    const text = await remote.run(queue, (signal) => source.find(hash, { signal, maxBytes }), {
      maxWaiting: MAX_WAITING,
      maxWait: timeout,
    });
    if (text === undefined) return undefined;
    const isValid = typeof text === 'string' && encoder.encode(text).length <= maxBytes && appDataHash(text) === hash;
    if (isValid) return text;
    onFailure(new TypeError(`the app-data source returned another or a larger document for ${hash}`));
    return undefined;
  }

  return async (hash, queue = 'clients') => {
    const known = read(hash);
    if (known !== undefined) return known.text;
    return share(`${queue} ${hash}`, async () => {
      const written = read(hash); // a concurrent call may have cached it
      if (written !== undefined) return written.text;
      try {
        const text = await query(hash, queue);
        write(hash, text);
        return text;
      } catch (failure) {
        if (failure instanceof QueueFullError) {
          const description = 'too many app-data documents are queried; try again in 1 s';
          throw new OrderBookError('RateLimited', description, { retryAfter: 1 });
        }
        onFailure(failure);
        const description = 'the app-data source is not available; nothing was stored';
        throw new OrderBookError('InternalServerError', description, { hash });
      }
    });
  };
}
