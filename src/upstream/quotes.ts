import { createUnavailable, UpstreamError } from '../admission/upstream-error.ts';
import { OrderBookError } from '../errors.ts';
import type { QuoteStore } from '../ports/quote-store.ts';
import type { UpstreamQuote } from '../ports/upstream.ts';
import { formatDecimal, parseDecimal } from '../protocol/decimal.ts';
import { type Address, parseHex, ZERO_ADDRESS } from '../protocol/hex.ts';
import type { QuoteResponse, QuoteResult, QuoteStreamEvent, QuoteStreamResult } from '../records/quote-results.ts';
import type { UpstreamBook } from './context.ts';
import { put } from './tasks.ts';

/** A response of the other book in wire format. */
type WireQuote = Extract<UpstreamQuote, { readonly status: 'quoted' }>['quote'];

/** Quotes of the other book. Fees, expiry, verification and rejections are passed on unchanged. */
export type UpstreamQuotes = ReturnType<typeof createUpstreamQuotes>;

export function createUpstreamQuotes({ upstream, store, tasks }: UpstreamBook) {
  /** Gives a quote an id of this book. The other book's is sent with the order, so that it knows its quote. */
  async function adopt(quote: WireQuote): Promise<WireQuote> {
    const record = quote.id === null ? undefined : toRecord(quote);
    if (record === undefined || quote.id === null) return { ...quote, id: null };
    const id = await store.quotes.insert(record);
    await tasks.write([put('quote', String(id), record.expiresAt, { id: quote.id, upstream: upstream.name })]);
    return { ...quote, id };
  }

  async function toResult(answer: UpstreamQuote): Promise<QuoteResult> {
    if (answer.status === 'quoted')
      return { status: 'quoted', quote: (await adopt(answer.quote)) as unknown as QuoteResponse }; // the same format
    if (answer.status === 'rejected') return { status: 'rejected', error: new UpstreamError(answer) };
    const until = answer.status === 'blocked' ? answer.until : undefined;
    return { status: 'rejected', error: createUnavailable(upstream.name, answer.reason, until) };
  }

  /** Not an async generator: before its first read, and while it waits, its `return` would not end `rest`. */
  function toEvents(first: QuoteResult, rest: AsyncIterator<UpstreamQuote>): AsyncIterable<QuoteStreamEvent> {
    let unread: QuoteResult | undefined = first;
    async function read(): Promise<QuoteResult | undefined> {
      const { done, value } = await rest.next();
      return done === true ? undefined : endOnFailure(rest, toResult(value));
    }
    const iterator: AsyncIterator<QuoteStreamEvent> = {
      async next() {
        const known = unread;
        unread = undefined;
        const result = known ?? (await read());
        return result === undefined ? END : { done: false, value: toEvent(result) };
      },
      async return() {
        unread = undefined;
        await rest.return?.();
        return END;
      },
    };
    return { [Symbol.asyncIterator]: () => iterator };
  }

  return {
    async request(request: unknown, signal?: AbortSignal): Promise<QuoteResult> {
      const error = findFormatError(request);
      if (error !== undefined) return { status: 'rejected', error };
      const answer = await upstream.quote(request, { signal });
      signal?.throwIfAborted();
      return toResult(answer);
    },
    /** Returns the price of a token in native currency. @throws Error if the other book does not answer. */
    async nativePrice(token: Address, signal?: AbortSignal): Promise<number | undefined> {
      const read = await upstream.nativePrice(token, { signal });
      if (read.status === 'read') return read.value;
      throw new Error(`${upstream.name}: ${read.reason}`);
    },
    /** Waits for the first quote: a request without one is rejected like that of a single quote. */
    async stream(request: unknown, signal?: AbortSignal): Promise<QuoteStreamResult> {
      const error = findFormatError(request);
      if (error !== undefined) return { status: 'rejected', error };
      const answers = upstream.quotes(request, { signal })[Symbol.asyncIterator]();
      const answer = await answers.next();
      signal?.throwIfAborted();
      const result = toResult(answer.value ?? { status: 'failed', reason: 'the stream is empty' });
      const first = await endOnFailure(answers, result);
      if (first.status === 'quoted') return { status: 'streaming', quotes: toEvents(first, answers) };
      await answers.return?.();
      return first;
    },
  };
}

const toEvent = (result: QuoteResult): QuoteStreamEvent =>
  result.status === 'quoted' ? { type: 'quote', quote: result.quote } : { type: 'error', error: result.error };

const END = { done: true, value: undefined } as const;

/** Waits for a result of a stream. The stream is ended if there is none: its reader does not end it. */
async function endOnFailure<T>(stream: AsyncIterator<unknown>, result: Promise<T>): Promise<T> {
  try {
    return await result;
  } catch (failure) {
    await stream.return?.();
    throw failure;
  }
}

/** Returns the error of a request that has no JSON text, such as one with a bigint. The other book checks the rest. */
function findFormatError(request: unknown): OrderBookError | undefined {
  try {
    if (JSON.stringify(request) !== undefined) return undefined;
  } catch (cause) {
    return new OrderBookError('InvalidBody', `the request must be JSON: ${String(cause)}`, { path: '' });
  }
  return new OrderBookError('InvalidBody', 'the request must be JSON', { path: '' });
}

/** Converts a response to a quote that orders can be linked to; `undefined` if it lacks what that needs. */
function toRecord({ quote, expiration, verified }: WireQuote): Parameters<QuoteStore['insert']>[0] | undefined {
  const terms = (typeof quote === 'object' && quote !== null ? quote : {}) as Readonly<Record<string, unknown>>;
  const [sellToken, buyToken] = [parseHex(terms['sellToken'], 20), parseHex(terms['buyToken'], 20)];
  const { kind } = terms;
  // biome-ignore lint/style/noRestrictedGlobals: parses a given time, does not read the clock
  const expiresAt = Date.parse(String(expiration));
  if (sellToken === undefined || buyToken === undefined || !(kind === 'sell' || kind === 'buy')) return undefined;
  const [sell, buy, fee] = [terms['sellAmount'], terms['buyAmount'], terms['feeAmount']].map(toAmount);
  if (sell === undefined || buy === undefined || fee === undefined || Number.isNaN(expiresAt)) return undefined;
  const [gasAmount, gasPrice, sellTokenPrice] = ['gasAmount', 'gasPrice', 'sellTokenPrice'].map((name) =>
    toNumber(terms[name]),
  );
  // An order contains the whole amount: the fee is not signed. What a sale buys is quoted after the fee.
  const sellAmount = kind === 'sell' ? sell + fee : sell;
  const buyAmount = kind === 'sell' && sell > 0n ? (buy * sellAmount + sell - 1n) / sell : buy;
  const body = {
    gasAmount,
    gasPrice,
    sellTokenPrice,
    sellAmount: String(sellAmount),
    buyAmount: String(buyAmount),
    feeAmount: String(fee),
    solver: ZERO_ADDRESS,
    verified: verified === true,
  };
  const rate = sellAmount === 0n ? 0n : (buyAmount << 256n) / sellAmount;
  return {
    sellToken,
    buyToken,
    kind,
    amount: String(kind === 'sell' ? sellAmount : buy),
    quoteKind: 'standard',
    expiresAt,
    rank: `${verified === true ? 1 : 0}${rate.toString(16).padStart(128, '0')}`,
    quote: { body: JSON.stringify(body), metadata: '{}' },
  };
}

function toAmount(value: unknown): bigint | undefined {
  return typeof value === 'string' && /^[0-9]{1,78}$/.test(value) ? BigInt(value) : undefined;
}

/** Returns a plain decimal without an exponent; "0" if the other book does not report it. */
function toNumber(value: unknown): string {
  const decimal = parseDecimal(value);
  return decimal === undefined ? '0' : formatDecimal(decimal);
}
