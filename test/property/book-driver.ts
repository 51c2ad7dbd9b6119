import assert from 'node:assert/strict';
import type { Clock, Hex, OrderBook, OrderEvent, Store, StoredEvent } from 'intentbook';
import { createOrderBook, StoreError, systemClock } from 'intentbook';
import type { Happening } from '../support/chain-events.ts';
import { blockOf, eventsIn } from '../support/chain-events.ts';
import type { ManualClock } from '../support/clock.ts';
import { manualClock } from '../support/clock.ts';
import { SEPOLIA, signCancellation, WETH } from '../support/orders.ts';
import type { Fact, Shown, ShownLog, ShownOrder } from './book-model.ts';
import { QUOTAS, sample } from './book-model.ts';
import { SAMPLES, SIGNERS, START } from './book-orders.ts';
import type { CrashingStore } from './crashing-store.ts';
import { crashing } from './crashing-store.ts';

/** Storage of a sequence, which survives a crash of a process. */
export interface BookStorage {
  /** Number of processes that write concurrently. */
  readonly writers: number;
  /** Creates a closed store over it. */
  connect(): Store;
  dispose(): Promise<void>;
}

/** A process with an open book. */
interface Writer {
  readonly book: OrderBook;
  readonly sequence: CrashingStore;
  /** Id of the newest log entry at its start, and the events that its listeners received since. */
  readonly since: number;
  readonly received: number[];
}

const EVENT_NAMES = [
  ...(['orderCreated', 'orderCancelled', 'orderPresigned', 'orderPresignatureRevoked', 'orderTraded'] as const),
  ...(['orderExpired', 'orderReinstated', 'orderReverted'] as const),
];

/** The real system: books on a storage, and a chain whose events are applied to them. */
export class BookSystem {
  readonly clock: ManualClock = manualClock(START * 1000);
  readonly failures: unknown[] = [];
  readonly #medium: BookStorage;
  readonly #writers: Writer[] = [];
  readonly #replay = new Replay();
  #forks = 0;
  #last: { readonly number: number; applyTo(book: OrderBook): Promise<string> } | undefined;

  constructor(storage: BookStorage) {
    this.#medium = storage;
  }

  static async begin(storage: BookStorage): Promise<BookSystem> {
    const fixture = new BookSystem(storage);
    for (let i = 0; i < storage.writers; i++) fixture.#writers.push(await fixture.#start());
    return fixture;
  }

  async #start(): Promise<Writer> {
    const sequence = crashing(this.#medium.connect());
    const limits = { maxOpenOrders: QUOTAS.open, maxPendingOrders: QUOTAS.pending };
    const book = createOrderBook({
      chainId: SEPOLIA,
      clock: withShortDelays(this.clock),
      store: sequence.store,
      limits,
      expiryInterval: 'off',
      eip1271: 'accept-unverified',
    });
    const received: number[] = [];
    for (const name of EVENT_NAMES) book.on(name, (event: OrderEvent) => void received.push(event.id));
    book.on('failure', (failure) => void this.failures.push(failure));
    await book.start();
    return { book, sequence, received, since: await sequence.store.events.last() };
  }

  #writer(number: number): Writer {
    return this.#writers[number % this.#writers.length] as Writer; // at least one exists
  }

  get now(): number {
    return this.clock.now();
  }

  /** @returns one result per order, in the format of the model. */
  async submit(list: readonly number[], by: number): Promise<string> {
    const { book } = this.#writer(by);
    const results = await book.orders.submitMany(list.map((n) => sample(n).creation));
    for (const [i, result] of results.entries()) {
      if (result.status === 'accepted') assert.equal(result.uid, sample(list[i] ?? -1).uid, 'the UID');
    }
    return results.map((result) => (result.status === 'accepted' ? 'accepted' : result.error.code)).join();
  }

  async cancel(list: readonly number[], signer: number, by: number): Promise<string> {
    const orderUids = list.map((n) => sample(n).uid);
    const [orderUid = ''] = orderUids;
    const single = list.length === 1;
    const signed = await cancellation(single ? { orderUid } : { orderUids }, signer);
    const request = single ? { orderUid, ...signed } : { orderUids, ...signed };
    const result = await this.#writer(by).book.orders.cancel(request);
    return result.status === 'cancelled' ? 'cancelled' : result.error.code;
  }

  async mine(height: number, facts: readonly Fact[], by: number): Promise<string> {
    const block = blockOf(height, `fork ${this.#forks} `);
    const batch = { events: eventsIn(block, facts.map(happeningOf)), through: block };
    const applyTo = async (book: OrderBook) => {
      const outcome = await book.chain.apply(batch);
      return outcome.status === 'applied' ? `applied ${outcome.applied}` : outcome.status;
    };
    this.#last = { number: height, applyTo };
    return applyTo(this.#writer(by).book);
  }

  /** Applies the newest block again if it is canonical. */
  async again(height: number, by: number): Promise<string> {
    return this.#last?.number === height ? this.#last.applyTo(this.#writer(by).book) : 'applied 0';
  }

  async rollback(height: number, by: number): Promise<string> {
    this.#forks++;
    this.#last = undefined;
    return (await this.#writer(by).book.chain.rollback(height)).status;
  }

  async sweep(by: number): Promise<number> {
    return this.#writer(by).sequence.store.orders.expire(Math.floor(this.now / 1000), 1000);
  }

  /** Crashes the process during an operation. @returns its result if it did not crash. */
  async crashDuring(doing: () => Promise<string>, by: number, when: 'before' | 'after'): Promise<string | undefined> {
    const writer = this.#writer(by);
    writer.sequence.crashAtNextWrite(when);
    const answer = await Promise.race([doing(), writer.sequence.crashed]);
    writer.sequence.crashNow();
    await writer.sequence.store.close();
    await this.#heardIsWhole(writer);
    this.#writers[this.#writers.indexOf(writer)] = await this.#start();
    return answer ?? undefined;
  }

  /** Lets one of the store calls of an operation fail. @returns its result if it did not fail. */
  async failIn(doing: () => Promise<string>, by: number, calls: number): Promise<string | undefined> {
    const { sequence } = this.#writer(by);
    sequence.failAfter(calls);
    try {
      return await doing();
    } catch (failure) {
      assert.ok(
        failure instanceof StoreError && failure.code === 'Unavailable' && failure.cause instanceof Error,
        String(failure),
      );
      return undefined;
    } finally {
      sequence.failAfter(-1);
      await new Promise(setImmediate); // the run of a worker that has met the failure reports it
      // Listeners can miss events until the log can be read again.
      this.clock.advance(1000);
      this.failures.splice(0);
    }
  }

  async reopen(by: number): Promise<void> {
    const writer = this.#writer(by);
    await this.#close(writer);
    this.#writers[this.#writers.indexOf(writer)] = await this.#start();
  }

  async #close(writer: Writer): Promise<void> {
    const log = await this.#log(writer, writer.since);
    await writer.book.close();
    assert.deepEqual(writer.received, log, 'listeners received the events of the log');
  }

  /** A crashed process can miss events, but it never receives a wrong or repeated one. */
  async #heardIsWhole({ received }: Writer): Promise<void> {
    assert.deepEqual(
      received,
      [...new Set(received)].sort((a, b) => a - b),
      'in the order of the log, each once',
    );
  }

  async #log(writer: Writer, after: number): Promise<number[]> {
    return (await writer.sequence.store.events.after(after, 100_000)).map(({ id }) => id);
  }

  /** Reads the complete visible state through one of the processes. */
  async look(by: number): Promise<Shown> {
    const { book, sequence } = this.#writer(by);
    const { store } = sequence;
    const results = await book.orders.getMany(SAMPLES.map(({ uid }) => uid));
    const orders = results.map((result): ShownOrder => {
      if (result.order === undefined) throw new Error('a row is damaged');
      const { uid, status, creationDate, executedSellAmount: sold, executedBuyAmount: bought } = result.order;
      return { uid, status, creationDate: Date.parse(creationDate), sold, bought };
    });
    const seconds = Math.floor(this.now / 1000);
    const owners = SIGNERS.map(({ address }) => address.toLowerCase() as Hex);
    this.#replay.read(await store.events.after(this.#replay.last, 10_000));
    return {
      orders: orders.sort((a, b) => (a.uid < b.uid ? -1 : 1)),
      lists: await Promise.all(
        owners.map(async (owner) => (await book.orders.list({ owner })).orders.map(({ uid }) => uid)),
      ),
      counts: await Promise.all(owners.map((owner) => store.orders.count(owner, seconds))),
      log: this.#replay.shows(),
    };
  }

  async end(): Promise<void> {
    for (const writer of this.#writers.splice(0)) {
      try {
        await this.#close(writer);
      } finally {
        writer.sequence.crashNow();
        await writer.sequence.store.close();
      }
    }
    assert.deepEqual(this.failures, [], 'no failure was reported');
  }

  async dispose(): Promise<void> {
    for (const { sequence } of this.#writers) await sequence.store.close();
    await this.#medium.dispose();
  }
}

/** Signatures are cached, because signing takes longer than everything else and sequences resemble each other. */
const signatures = new Map<string, ReturnType<typeof signCancellation>>();
function cancellation(what: Parameters<typeof signCancellation>[1], signer: number) {
  const wallet = SIGNERS[signer];
  if (wallet === undefined) throw new Error(`there is no signer ${signer}`);
  const key = `${signer} ${JSON.stringify(what)}`;
  const signed = signatures.get(key) ?? signCancellation(wallet, what);
  signatures.set(key, signed);
  return signed;
}

/** Runs short delays in real time: a process that waits for another one's lock does not wait for a manual clock. */
export function withShortDelays(clock: ManualClock): Clock {
  return {
    now: clock.now,
    ...(clock.monotonic === undefined ? {} : { monotonic: clock.monotonic }),
    after: (ms, task) => (ms < 100 ? systemClock.after(ms, task) : clock.after(ms, task)),
  };
}

function happeningOf({ type, order: n, sold, bought, signed }: Fact): Happening {
  const { uid: orderUid, owner, creation } = sample(n);
  switch (type) {
    case 'trade': {
      const tokens = { sellToken: WETH.toLowerCase() as Hex, buyToken: creation.buyToken.toLowerCase() as Hex };
      const amounts = { sellAmount: sold, buyAmount: bought, feeAmount: 0n };
      return { event: 'Trade', owner, ...tokens, ...amounts, orderUid };
    }
    case 'invalidation':
      return { event: 'OrderInvalidated', owner, orderUid };
    case 'signature':
      return { event: 'PreSignature', owner, orderUid, signed };
  }
}

/** Derives the state of each order from the log alone. */
class Replay {
  last = 0;
  readonly #standing = new Map<Hex, Map<string, StoredEvent>>();

  read(events: readonly StoredEvent[]): void {
    for (const event of events) {
      assert.ok(event.id > this.last, 'ids count up');
      this.last = event.id;
      const { uid, type, cause } = event;
      const place = cause === undefined ? '' : `${cause.position.blockHash} ${cause.position.logIndex}`;
      if (type === 'created') {
        assert.ok(!this.#standing.has(uid), 'created twice');
        this.#standing.set(uid, new Map());
        continue;
      }
      const standing = this.#standing.get(uid);
      if (standing === undefined) throw new Error(`${type} of an order that was never created`);
      if (type === 'reverted' || type === 'reinstated') {
        const taken = type === 'reinstated' ? 'expired' : `${cause?.reverted}`;
        assert.ok(standing.delete(`${taken} ${place}`), `nothing to take back: ${taken}`);
        continue;
      }
      assert.ok(!standing.has(`${type} ${place}`), `${type} twice`);
      standing.set(`${type} ${place}`, event);
    }
  }

  shows(): ShownLog[] {
    const logs = [...this.#standing].map(([uid, standing]): ShownLog => {
      const events = [...standing.values()];
      const has = (type: string) => events.some((event) => event.type === type);
      const count = (type: string) => events.filter((event) => event.type === type).length;
      const trades = events.flatMap(({ cause }) => cause?.trade ?? []);
      const sum = (amount: 'sellAmount' | 'buyAmount') => trades.reduce((all, each) => all + BigInt(each[amount]), 0n);
      return {
        uid,
        cancelled: has('cancelled'),
        signed: count('presigned') > count('presignatureRevoked'),
        filled: trades.some(({ completes }) => completes),
        trades: trades.length,
        sold: String(sum('sellAmount')),
        bought: String(sum('buyAmount')),
        expired: has('expired'),
      };
    });
    return logs.sort((a, b) => (a.uid < b.uid ? -1 : 1));
  }
}
