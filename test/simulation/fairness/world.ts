import type { Api, ApiResponse, OrderBook, Store } from 'intentbook';
import { createApi, createOrderBook, tokenBuckets } from 'intentbook';
import { memoryStore } from 'intentbook/memory';
import { address, word } from '../../conformance/orders.ts';
import { completeOrder } from '../../support/complete-orders.ts';
import { createEventClock } from '../auctions/event-clock.ts';
import { createSeededRandom } from '../machine/random.ts';
import { createTrace } from '../machine/trace.ts';
import { loadRecovery } from '../orders/keys.ts';
import { BUY_TOKEN, CHAIN_ID, SELL_TOKEN } from '../orders/pool-order.ts';
import type { Violation } from '../simulate.ts';

const START = 1_700_000_000_000;
const ORDERS = 1_000;
const VALID_TO = 4_000_000_000;
/** Rows and bytes of a body whose work is one token, and the milliseconds of that work. */
const ROWS_PER_TOKEN = 128;
const BYTES_PER_TOKEN = 16 * 1024;
const MS_PER_TOKEN = 10;
/** Reads per second of a client, and its burst. */
const READS = { perSecond: 10, burst: 50 };
/** Work in tokens that a client may exceed its limit by: that of the requests that are admitted at once. */
const SLACK = 30;
/** Maximum virtual milliseconds of a request of another client: pages of two lists and four streams, and its own. */
const MAX_WAIT = 12 * MS_PER_TOKEN;
const QUOTA = 10;

const ATTACKER = '203.0.113.1';
const OTHER = '198.51.100.1';

interface Call {
  readonly method?: string;
  readonly path: string;
  readonly query?: string;
  readonly body?: string;
  readonly lastEventId?: string;
}

/** What the attacker repeats on many connections. */
const ATTACKS: readonly Call[] = [
  { path: '/api/v1/orders', query: 'limit=1000' },
  { path: '/api/v1/orders', query: `limit=10&buyToken=${SELL_TOKEN}` },
  { method: 'POST', path: '/api/v1/orders/by_uids', body: `["${'a'.repeat(900_000)}"]` },
  { path: '/api/v1/orders/stream', lastEventId: '1' },
];

/**
 * Simulates an attacker with many connections at its limits, and another client. The work of the store takes virtual
 * time on one processor, in the order in which it begins. The other client must not wait for long, the attacker must
 * not get more work than it pays for, and orders in the name of a contract must not stop those of its owner.
 */
export async function simulateFairness(seed: string, keepsTrace: boolean) {
  const random = createSeededRandom(`fairness ${seed}`);
  const clock = createEventClock(START);
  const trace = createTrace(() => clock.now() - START, keepsTrace);
  let violation: Violation | undefined;
  const report = (invariant: string, details: string) => {
    violation ??= { invariant, details, time: clock.now() - START };
  };
  let [busyUntil, work, operations, pending] = [START, 0, 0, 0];
  let isOther = false;

  /** Does work on the processor, after the work that has begun before. */
  function process(tokens: number): Promise<void> {
    if (!isOther) work += tokens;
    busyUntil = Math.max(busyUntil, clock.now()) + tokens * MS_PER_TOKEN;
    return new Promise((resolve) => void clock.after(busyUntil - clock.now(), resolve));
  }

  const inner = memoryStore();
  const store: Store = {
    ...inner,
    orders: {
      ...inner.orders,
      async list(query) {
        const rows = await inner.orders.list(query);
        await process(rows.length / ROWS_PER_TOKEN);
        return rows;
      },
      async scan(query, examine) {
        const found = (await inner.orders.scan?.(query, examine)) ?? { orders: [] };
        await process(found.orders.length / ROWS_PER_TOKEN);
        return found;
      },
    },
    events: {
      ...inner.events,
      async after(id, limit) {
        const entries = await inner.events.after(id, limit);
        await process(entries.length / ROWS_PER_TOKEN);
        return entries;
      },
    },
  };
  const limits = { maxPendingOrders: QUOTA };
  const book: OrderBook = createOrderBook({
    chainId: CHAIN_ID,
    clock,
    store,
    recovery: await loadRecovery(),
    limits,
  });
  const api: Api = createApi(book, { limiter: tokenBuckets({ clock, reads: READS }) });
  const starting = book.start();
  await clock.pass(1);
  await starting;
  const rows = Array.from({ length: ORDERS }, (_, n) => {
    const owner = address(0xb000 + (n % 50));
    const uid = `${word(n + 1)}${owner.slice(2)}${VALID_TO.toString(16)}` as const;
    return { order: completeOrder(n, { uid, owner, sellToken: SELL_TOKEN, buyToken: BUY_TOKEN, validTo: VALID_TO }) };
  });
  await inner.orders.insert(rows);

  /** Sends a request, reads its body, and returns its status. Streams are read until they are silent. */
  async function send({ method = 'GET', path, query = '', body, lastEventId }: Call, client: string): Promise<number> {
    operations++;
    const end = new AbortController();
    const headers: Record<string, string> = { 'content-type': 'application/json' };
    if (lastEventId !== undefined) headers['last-event-id'] = lastEventId;
    if (body !== undefined) headers['content-length'] = String(body.length);
    const response: ApiResponse = await api.handle({
      method,
      path,
      query,
      header: (name) => headers[name],
      body: body === undefined ? { type: 'none' } : { type: 'bytes', bytes: body },
      signal: end.signal,
      remoteAddress: client,
    });
    // A long body is received in parts, and not parsed: it is paid for, but blocks nothing.
    if (response.status !== 429 && client === ATTACKER) work += (body?.length ?? 0) / BYTES_PER_TOKEN;
    if (typeof response.body !== 'object' || !(Symbol.asyncIterator in response.body)) return response.status;
    const chunks = response.body[Symbol.asyncIterator]();
    if (lastEventId !== undefined) {
      clock.after(5_000, () => {
        end.abort();
        void chunks.return?.();
      });
    }
    while (!end.signal.aborted && (await chunks.next()).done !== true);
    return response.status;
  }

  /** Sends a request of the other client, which must end in time. */
  async function sendOther(call: Call, expected: number): Promise<void> {
    const since = clock.now();
    pending++;
    isOther = true;
    const sending = send(call, OTHER);
    isOther = false;
    const status = await sending;
    pending--;
    trace.add(`other ${call.path} ${status} ${clock.now() - since}`);
    if (status !== expected) report('fairness', `${call.path} of another client has the status ${status}`);
    if (clock.now() - since > MAX_WAIT)
      report('fairness', `${call.path} of another client took ${clock.now() - since} ms`);
  }

  const presign = (owner: string, n: number): Call => ({
    method: 'POST',
    path: '/api/v1/orders',
    body: JSON.stringify({
      sellToken: SELL_TOKEN,
      buyToken: BUY_TOKEN,
      receiver: null,
      sellAmount: String(1_000 + n),
      buyAmount: '1',
      validTo: Math.floor(START / 1000) + 3_600,
      appData: '{}',
      feeAmount: '0',
      kind: 'sell',
      partiallyFillable: false,
      signingScheme: 'presign',
      signature: '0x',
      from: owner,
    }),
  });

  const victim = address(0xfeed);
  const end = START + 8_000;
  // A stranger uses the quota of a contract before its owner does, and sends as many in the names of others at once.
  let unsigned = 0;
  for (let n = 0; n < 2 * QUOTA; n++) {
    const owner = n < QUOTA ? victim : address(0xfe00 + n);
    void send(presign(owner, n), ATTACKER).then((status) => {
      if (status === 201) unsigned++;
    });
  }
  for (let step = 0; clock.now() < end && violation === undefined; step++) {
    const attack = random.pick(ATTACKS);
    const connections = random.pick([1, 8, 100]);
    trace.add(`attack ${attack.path} ${connections}`);
    for (let n = 0; n < connections; n++) void send(attack, ATTACKER).then((status) => trace.add(`${status}`));
    await clock.pass(random.integer(1, 40));
    void sendOther({ path: '/api/v1/orders', query: 'limit=50' }, 200);
    if (step % 4 === 0) void sendOther(presign(victim, 100 + step), 201);
    await clock.pass(random.integer(100, 1_000));
    const paid = READS.burst + (READS.perSecond * (clock.now() - START)) / 1_000;
    if (work > paid + SLACK) report('share', `the attacker got the work of ${Math.round(work)} tokens for ${paid}`);
  }
  await clock.pass(10_000);
  if (unsigned > QUOTA) report('quota', `a client has ${unsigned} orders without a signature`);
  if (pending > 0 && violation === undefined)
    report('liveness', `${pending} requests of another client have not ended`);
  const closing = book.close();
  await clock.pass(1_000);
  await closing;
  const base = {
    hash: trace.hash,
    lines: trace.lines,
    operations,
    commits: 0,
    forks: 0,
    duration: clock.now() - START,
  };
  return violation === undefined ? base : { ...base, violation };
}
