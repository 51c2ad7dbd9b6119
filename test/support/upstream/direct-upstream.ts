import type {
  Clock,
  Hex,
  Order,
  OrderBook,
  OrderCreation,
  QuoteRequest,
  Upstream,
  UpstreamQuote,
  UpstreamRead,
  UpstreamWrite,
} from 'intentbook';
import { createUpstreamClock, type UpstreamClock } from '../../../adapters/upstream/clock.ts';
import { parseOrders, parseTrades } from '../../../adapters/upstream/parse-order.ts';

/** What happens to the next write. */
export type WriteFault =
  /** The other book receives it; its answer is lost. */
  | 'lost'
  /** The other book receives it after `deliver`. */
  | 'late'
  /** It never arrives, and this book cannot know. */
  | 'vanished'
  /** The edge refuses it. */
  | 'blocked'
  /** The other book receives it twice; the answer is that of the second one. */
  | 'doubled';

/** A book in the same process as an upstream, with scripted faults. */
export interface DirectUpstream extends Upstream {
  readonly calls: {
    submitOrder: number;
    cancelOrders: number;
    getOrders: number;
    listOrders: number;
    listTrades: number;
  };
  /** Faults of the next writes, in order. */
  readonly faults: WriteFault[];
  /** Lets late writes arrive. */
  deliver(): Promise<void>;
  /** Reads return what the other book knew at this moment, until it is called with `false`. */
  freeze(isFrozen?: boolean): Promise<void>;
  /** Every call fails, until it is called with `false`. */
  setDown(isDown: boolean): void;
  /** Changes the orders of reads. */
  change: (order: Order) => Order | undefined;
  /** Called before a read returns. */
  onRead: () => Promise<void>;
  /** Pages with one of these offsets fail. */
  readonly broken: Set<number>;
  /** Milliseconds by which the clock of the other book is ahead. */
  skew: number;
  /** The host that answers reads. */
  host: string;
}

/** Creates an upstream over a book. */
export function directUpstream(book: OrderBook, clock: Clock, name = 'other.example'): DirectUpstream {
  const late: (() => Promise<unknown>)[] = [];
  let frozen: ReadonlyMap<Hex, Order> | undefined;
  let isDown = false;
  let report = () => {};
  let time: UpstreamClock | undefined;
  const calls = { submitOrder: 0, cancelOrders: 0, getOrders: 0, listOrders: 0, listTrades: 0 };
  const lost = { status: 'unknown', reason: 'the connection was cut' } as const;
  const read = <T>(value: T): UpstreamRead<T> => ({
    status: 'read',
    value,
    startedAt: clock.now(),
    host: upstream.host,
  });
  const failed = { status: 'failed', reason: 'the connection was refused' } as const;

  async function write(work: () => Promise<UpstreamWrite>): Promise<UpstreamWrite> {
    if (isDown) return { status: 'blocked', reason: 'the connection was refused', until: clock.now() + 60_000 };
    report();
    const fault = upstream.faults.shift();
    switch (fault) {
      case undefined:
        return work();
      case 'lost':
        await work();
        return lost;
      case 'late':
        late.push(work);
        return lost;
      case 'vanished':
        return lost;
      case 'doubled':
        await work();
        return work();
      case 'blocked':
        return { status: 'blocked', reason: 'status 403', until: clock.now() + 60_000 };
    }
  }

  const toWrite = (result: { status: string; error?: { code: string; message: string; status: number } }) =>
    result.error === undefined
      ? undefined
      : ({
          status: 'rejected',
          code: result.error.code,
          description: result.error.message,
          httpStatus: result.error.status,
        } as const);

  async function all(owner: string): Promise<Order[]> {
    const orders: Order[] = [];
    for (let cursor: string | undefined; ; ) {
      const page = await book.orders.list({ owner, limit: 1000, ...(cursor === undefined ? {} : { cursor }) });
      orders.push(...page.orders);
      cursor = page.next;
      if (cursor === undefined) return orders;
    }
  }

  const visible = (orders: readonly Order[]) =>
    orders
      .flatMap((order) => (frozen === undefined ? order : (frozen.get(order.uid) ?? [])))
      .flatMap((order) => upstream.change(order) ?? []);

  async function toQuote(request: unknown): Promise<UpstreamQuote> {
    if (isDown) return failed;
    const result = await book.quotes.request(request as QuoteRequest);
    if (result.status === 'quoted') return { status: 'quoted', quote: result.quote as never };
    return toWrite(result) as Extract<UpstreamQuote, { status: 'rejected' }>;
  }

  const upstream: DirectUpstream = {
    name,
    calls,
    faults: [],
    broken: new Set(),
    skew: 0,
    host: name,
    change: (order) => order,
    onRead: async () => {},
    createClock: (host) => {
      time = createUpstreamClock(host, () => ({ skew: upstream.skew }));
      return time.time;
    },
    open(context) {
      const { onCall } = time?.attach(context) ?? context;
      report = () => onCall({ class: 'write', outcome: 'ok', ms: 0 });
    },
    close() {},
    setDown(down) {
      isDown = down;
    },
    async deliver() {
      for (const work of late.splice(0)) await work();
    },
    async freeze(isFrozen = true) {
      const { orders } = await book.orders.list({ limit: 1000 });
      frozen = isFrozen ? new Map(orders.map((order) => [order.uid, order])) : undefined;
    },
    submitOrder(order) {
      calls.submitOrder++;
      return write(async () => {
        const result = await book.orders.submit(order as unknown as OrderCreation);
        return toWrite(result as never) ?? { status: 'accepted', uid: (result as { uid: Hex }).uid };
      });
    },
    cancelOrders(request) {
      calls.cancelOrders++;
      return write(
        async () => toWrite((await book.orders.cancel(request as never)) as never) ?? { status: 'accepted' },
      );
    },
    cancelOrder: (uid, request) => upstream.cancelOrders({ orderUid: uid, ...request }),
    putAppData: (hash, document) =>
      write(async () => toWrite((await book.appData.put(document, { hash })) as never) ?? { status: 'accepted' }),
    quote: toQuote,
    async *quotes(request) {
      yield await toQuote(request);
    },
    async getOrders(uids) {
      calls.getOrders++;
      report();
      if (isDown) return failed;
      const orders = (await book.orders.getMany(uids)).flatMap(({ order }) => order ?? []);
      const value = parseOrders(visible(orders));
      await upstream.onRead();
      return read(value);
    },
    async listOrders(owner, { offset, limit }) {
      calls.listOrders++;
      if (isDown) return failed;
      const orders = (await all(owner)).slice(offset, offset + limit);
      if (orders.some((_, i) => upstream.broken.has(offset + i))) return { ...failed, httpStatus: 500 };
      return read({ orders: parseOrders(visible(orders)), rows: orders.map(({ uid }) => uid) });
    },
    async listTrades(of, { offset, limit }) {
      calls.listTrades++;
      if (isDown) return failed;
      const filter = 'uid' in of ? { orderUid: of.uid } : { owner: of.owner };
      return read(parseTrades((await book.trades.page({ ...filter, offset, limit })).trades) ?? []);
    },
    async nativePrice(token) {
      if (isDown) return failed;
      const result = await book.quotes.nativePrice(token);
      return read(result.status === 'priced' ? Number(result.price) : undefined);
    },
    status: () => ({ clockSkew: upstream.skew, paused: {}, failing: {} }),
  };
  return upstream;
}
