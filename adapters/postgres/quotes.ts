import type { OrderQuote, QuoteQuery, QuoteStore, QuoteTerms } from 'intentbook';
import { KINDS, QUOTE_KINDS } from '#internal';
import { toByteArray, toBytes, toNumberArray } from './rows.ts';
import type { PostgresSession } from './session.ts';

/**
 * Returns SQL by which the commit of a statement does not wait for a standby. A quote is short-lived, and no order
 * depends on it.
 */
const WITHOUT_STANDBY =
  "CASE WHEN current_setting('synchronous_commit') <> 'off' THEN set_config('synchronous_commit', 'local', true) END";

/** Creates the quote operations. Reads use the primary: a replica may lack the quote of a recent order. */
export function createQuoteTable({ schema: s, prepare, read, call, write }: PostgresSession): QuoteStore {
  const insert = prepare<readonly [number]>(
    `INSERT INTO ${s}.quotes (sell_token, buy_token, kind, amount, quote_kind, expires_at, rank, body, metadata) ` +
      `VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) RETURNING id, ${WITHOUT_STANDBY}`,
  );
  // One statement for a batch of orders. A matching quote with the given id takes precedence.
  const match = prepare<readonly [index: number, body: string, metadata: string]>(
    'SELECT i.index, m.body, m.metadata FROM ' +
      'unnest($1::bytea[], $2::bytea[], $3::smallint[], $4::text[], $5::smallint[], $6::bigint[], $7::bigint[]) ' +
      'WITH ORDINALITY i (sell_token, buy_token, kind, amount, quote_kind, now, id, index) CROSS JOIN LATERAL (' +
      `(SELECT 0 AS priority, q.body, q.metadata FROM ${s}.quotes q WHERE q.id = i.id ` +
      'AND q.sell_token = i.sell_token AND q.buy_token = i.buy_token AND q.kind = i.kind AND q.amount = i.amount ' +
      `AND q.expires_at >= i.now) UNION ALL (SELECT 1, q.body, q.metadata FROM ${s}.quotes q ` +
      'WHERE q.sell_token = i.sell_token AND q.buy_token = i.buy_token AND q.kind = i.kind AND q.amount = i.amount ' +
      'AND q.quote_kind = i.quote_kind AND q.expires_at >= i.now ORDER BY q.rank DESC, q.id DESC LIMIT 1) ' +
      'ORDER BY priority LIMIT 1) m',
  );
  // The array selects the rows once. A join could evaluate the subquery for each row and find other unlocked rows.
  const prune = prepare<readonly [number]>(
    `WITH removed AS (DELETE FROM ${s}.quotes WHERE id = ANY(ARRAY` +
      `(SELECT id FROM ${s}.quotes WHERE expires_at < $1 ORDER BY expires_at LIMIT $2 FOR UPDATE SKIP LOCKED)) ` +
      'RETURNING 1) SELECT count(*) FROM removed',
  );

  return {
    async insert({ quoteKind, expiresAt, rank, quote, ...terms }) {
      const kind = QUOTE_KINDS.indexOf(quoteKind);
      const values = [...toParameters(terms), kind, expiresAt, rank, quote.body, quote.metadata];
      // A quote that is stored twice is harmless: each has its own id.
      const [row] = await call('store a quote', (run) => run(insert, ...values), { repeatable: true });
      if (row === undefined) throw new Error('the server returned no id for a quote');
      return row[0];
    },

    match: createBatcher((queries: readonly QuoteQuery[]) =>
      read('match a quote', async (run) => {
        const found = new Array<OrderQuote | undefined>(queries.length);
        for (const [index, body, metadata] of await run(match, ...toColumns(queries))) {
          found[index - 1] = { body, metadata };
        }
        return found;
      }),
    ),

    prune: (now, limit) => write('remove expired quotes', async (run) => (await run(prune, now, limit))[0]?.[0] ?? 0),
  };
}

function toParameters({ sellToken, buyToken, kind, amount }: QuoteTerms): unknown[] {
  return [toBytes(sellToken), toBytes(buyToken), KINDS.indexOf(kind), amount];
}

/** Returns one array per parameter of the statement that matches quotes. */
function toColumns(queries: readonly QuoteQuery[]): unknown[] {
  return [
    toByteArray(queries.map(({ sellToken }) => toBytes(sellToken))),
    toByteArray(queries.map(({ buyToken }) => toBytes(buyToken))),
    toNumberArray(queries.map(({ kind }) => KINDS.indexOf(kind))),
    `{${queries.map(({ amount }) => amount).join()}}`,
    toNumberArray(queries.map(({ quoteKind }) => QUOTE_KINDS.indexOf(quoteKind))),
    toNumberArray(queries.map(({ now }) => now)),
    toNumberArray(queries.map(({ id }) => id ?? null)),
  ];
}

/** Requests of one batch at most. */
const MAX_BATCH_SIZE = 128;

/** Ticks of the event loop in which a batch collects requests. Each further batch is a further statement. */
const MAX_TICKS = 4;

/** Batches that run at the same time. A second one uses the time in which the first waits for the server. */
const MAX_BATCHES = 2;

interface Pending<Request, Result> {
  readonly request: Request;
  readonly resolve: (result: Result) => void;
  readonly reject: (failure: unknown) => void;
}

/**
 * Creates a function that runs concurrent requests in batches. A batch collects requests until a tick of the event loop
 * brings none, in at most four ticks. It waits for a running batch if there are two. If a batch fails, each of its
 * requests fails.
 *
 * @param run - Returns one result per request, in the order of the requests.
 */
export function createBatcher<Request, Result>(
  run: (requests: readonly Request[]) => Promise<readonly Result[]>,
): (request: Request) => Promise<Result> {
  let queue: Pending<Request, Result>[] = [];
  let running = 0;
  let scheduled = false;

  function schedule(): void {
    if (scheduled || running === MAX_BATCHES || queue.length === 0) return;
    scheduled = true;
    setImmediate(() => collect(1, 0));
  }

  /** Starts a batch, or continues to collect in the next tick. @param size - Number of requests before this tick. */
  function collect(ticks: number, size: number): void {
    if (ticks < MAX_TICKS && queue.length > size && queue.length < MAX_BATCH_SIZE) {
      const collected = queue.length;
      setImmediate(() => collect(ticks + 1, collected));
      return;
    }
    scheduled = false;
    void start();
  }

  async function start(): Promise<void> {
    const batch = queue.slice(0, MAX_BATCH_SIZE);
    queue = queue.slice(MAX_BATCH_SIZE);
    running++;
    schedule();
    try {
      const results = await run(batch.map(({ request }) => request));
      for (const [i, { resolve }] of batch.entries()) resolve(results[i] as Result); // one per request
    } catch (failure) {
      for (const { reject } of batch) reject(failure);
    } finally {
      running--;
      schedule();
    }
  }

  return (request) =>
    new Promise((resolve, reject) => {
      queue.push({ request, resolve, reject });
      schedule();
    });
}
