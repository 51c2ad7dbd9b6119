import { createOrderBook, type Hex, type Order, type OrderBook, type Store } from 'intentbook';
import { memoryStore } from 'intentbook/memory';
import { orderBookUpstream } from 'intentbook/upstream';
import type { LocalAccount } from 'viem';
import { type Happening, tradeOf } from '../chain-events.ts';
import { manualClock } from '../clock.ts';
import { account, SEPOLIA, signCancellation, signOrder } from '../orders.ts';
import { scriptedChain } from '../scripted-chain.ts';
import { createRandom } from './bad-proxy.ts';
import { createNetwork } from './network.ts';

/** How orders of another book change, and what happens meanwhile. */
export interface FollowingPlan {
  readonly seed: number;
  /** Orders that are followed. 40 % of them are signed, so that their owners can cancel them off chain. */
  readonly orders: number;
  readonly minutes: number;
  readonly fillsPerBlock: number;
  readonly cancellationsPerMinute: number;
  /** Whether there are outages, storms of 429, reorganisations and restarts. */
  readonly hasFaults: boolean;
}

/** What was measured, in the time of the plan. */
export interface FollowingFigures {
  readonly transitions: number;
  readonly fills: number;
  readonly cancellations: number;
  readonly reorganisations: number;
  readonly restarts: number;
  readonly readsPerSecond: number;
  /** Seconds from a cancellation there to its event here. */
  readonly cancellationDelay: { readonly p50: number; readonly p99: number; readonly longest: number };
  /** Seconds from a block to the event of its fill here. */
  readonly fillDelay: { readonly p50: number; readonly p99: number; readonly longest: number };
  /** Orders whose state, amounts or events differ at the end. */
  readonly problems: readonly string[];
}

const OWNERS = 50;
const BLOCK = 12_000;
const STEP = 250;
/** Milliseconds after which each order has been read, also after the longest pause. */
const SETTLE = 600_000;

/**
 * Follows orders of another book over its HTTP interface, in virtual time, with the request budget for production. The
 * other book is in this process; only the network is simulated.
 */
export async function playFollowing(plan: FollowingPlan, store: Store = memoryStore()): Promise<FollowingFigures> {
  const random = createRandom(plan.seed);
  const below = (n: number) => Math.floor(random() * n);
  const clock = manualClock();
  const chain = scriptedChain();
  const indexer = (name: string) => ({ sources: [chain.node(name)], fromBlock: 101, pollInterval: 1000 });
  const limits = { maxOpenOrders: plan.orders, maxPendingOrders: plan.orders };
  const common = { chainId: SEPOLIA, clock, limits, expiryInterval: 1000 } as const;
  const other = createOrderBook({ ...common, store: memoryStore(), profile: 'production', indexer: indexer('theirs') });
  const network = createNetwork(other, clock);
  const upstream = orderBookUpstream({ url: 'http://other.example', fetch: network.fetch });
  const cancelledAt = new Map<string, number>();
  const minedAt = new Map<string, number>();
  const delays = { cancellation: [] as number[], fill: [] as number[] };
  const counts = new Map<string, number>();
  const count = (name: string, by = 1) => counts.set(name, (counts.get(name) ?? 0) + by);

  async function start(): Promise<OrderBook> {
    const book = createOrderBook({ ...common, store, upstream, indexer: indexer('ours') });
    book.on('orderCancelled', ({ uid }) => {
      count(`cancelled ${uid}`);
      const at = cancelledAt.get(uid);
      if (at !== undefined) delays.cancellation.push((clock.now() - at) / 1000);
    });
    book.on('orderTraded', ({ uid, cause }) => {
      count(`traded ${uid}`);
      const at = minedAt.get(cause?.position.blockHash ?? '');
      if (at !== undefined) delays.fill.push((clock.now() - at) / 1000);
    });
    book.on('orderReverted', ({ uid }) => count(`reverted ${uid}`));
    await book.start();
    return book;
  }

  /** Lets time pass, with what it causes. Responses of the other book need turns of the event loop. */
  async function pass(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= STEP) {
      clock.advance(Math.min(STEP, left));
      for (let turns = 0; turns < 4 || network.underWay > 0; turns++)
        await new Promise((resolve) => setImmediate(resolve));
    }
  }

  await other.start();
  let book = await start();
  // Modules are loaded in real time.
  for (let i = 0; i < 100; i++) {
    await pass(1000);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  const orders = await submitOrders(other, clock.now(), plan.orders);
  chain.mine(orders.flatMap(({ presignature }) => presignature ?? []));
  await pass(5000);
  await book.upstream?.follow({ uids: orders.map(({ order }) => order.uid) });
  await pass(SETTLE);

  const signed = orders.filter(({ presignature }) => presignature === undefined);
  const truth = new Map(orders.map(({ order }) => [order.uid, { fills: 0, isCancelled: false }]));
  const [begin, readsBefore] = [clock.now(), network.sent];
  let [reorganisations, restarts, blocks] = [0, 0, 0];
  let untilBlock = BLOCK;
  let repair = 0;
  const faultEvery = 10 * 60_000;

  function createBlock(): Happening[] {
    return Array.from({ length: plan.fillsPerBlock }, () => {
      const { order } = orders[below(orders.length)] as (typeof orders)[number];
      return tradeOf(order, 1000n, 1000n);
    });
  }

  for (let left = plan.minutes * 60_000; left > 0; left -= 1000) {
    if (random() < plan.cancellationsPerMinute / 60) {
      const { order, signer } = signed[below(signed.length)] as (typeof signed)[number];
      const known = truth.get(order.uid);
      if (known !== undefined && !known.isCancelled) {
        const orderUids = [order.uid];
        const result = await other.orders.cancel({ orderUids, ...(await signCancellation(signer, { orderUids })) });
        if (result.status === 'cancelled') {
          known.isCancelled = true;
          cancelledAt.set(order.uid, clock.now());
        }
      }
    }
    untilBlock -= 1000;
    if (untilBlock <= 0) {
      untilBlock = BLOCK;
      blocks++;
      if (plan.hasFaults && blocks % 25 === 0) {
        reorganisations++;
        const depth = 1 + below(3);
        chain.reorganise(depth, ...Array.from({ length: depth + 1 }, createBlock));
      } else chain.mine(createBlock());
      for (const { hash } of chain.blocks.slice(-8)) if (!minedAt.has(hash)) minedAt.set(hash, clock.now());
    }
    if (plan.hasFaults && left % faultEvery === 0) {
      // One long outage, then storms and short outages.
      if (restarts === 1) [network.state, repair] = ['down', Math.min(3_600_000, left / 2)];
      else [network.state, repair] = [random() < 0.5 ? 'limited' : 'down', 60_000 + below(180_000)];
      await book.close();
      book = await start();
      restarts++;
    }
    if (repair > 0) {
      repair -= 1000;
      if (repair <= 0) network.state = 'up';
    }
    await pass(1000);
  }
  const readsPerSecond = (network.sent - readsBefore) / ((clock.now() - begin) / 1000);
  network.state = 'up';
  // The longest pause after a storm, and a read of every order after it.
  await pass(2 * SETTLE);

  for (const block of chain.blocks) {
    for (const happening of block.happenings) {
      const known = happening.event === 'Trade' ? truth.get(happening.orderUid) : undefined;
      if (known !== undefined) known.fills++;
    }
  }
  const problems: string[] = [];
  let fills = 0;
  for (const [uid, { fills: expected, isCancelled }] of truth) {
    fills += expected;
    const [mine, theirs] = await Promise.all([book.orders.get(uid), other.orders.get(uid)]);
    const countOf = (name: string) => counts.get(`${name} ${uid}`) ?? 0;
    const facts = {
      state: [mine?.status, theirs?.status],
      sold: [mine?.executedSellAmount, theirs?.executedSellAmount],
      fills: [countOf('traded') - countOf('reverted'), expected],
      cancellations: [countOf('cancelled'), isCancelled ? 1 : 0],
    };
    for (const [name, [is, should]] of Object.entries(facts)) {
      if (is !== should) problems.push(`${uid.slice(0, 10)} ${name}: ${is}, not ${should}`);
    }
  }
  await book.close();
  await other.close();
  const cancellations = cancelledAt.size;
  return {
    transitions: fills + cancellations,
    fills,
    cancellations,
    reorganisations,
    restarts,
    readsPerSecond: Math.round(readsPerSecond * 1000) / 1000,
    cancellationDelay: describe(delays.cancellation),
    fillDelay: describe(delays.fill),
    problems,
  };
}

function describe(values: readonly number[]) {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0;
  return { p50: at(0.5), p99: at(0.99), longest: at(1) };
}

/** Submits orders to a book: 40 % are signed, the others wait for their presignature. */
async function submitOrders(book: OrderBook, now: number, count: number) {
  const validTo = Math.floor(now / 1000) + 30 * 86_400;
  const orders: { order: Order; signer: LocalAccount; presignature: Happening | undefined }[] = [];
  for (let i = 0; i < count; i++) {
    const signer = account(1 + (i % OWNERS));
    const choice = { validTo, sellAmount: String(10n ** 18n + BigInt(i)), buyAmount: '1000', partiallyFillable: true };
    const isSigned = i % 5 < 2;
    const creation = await signOrder(signer, choice);
    const submitted = isSigned ? creation : { ...creation, signingScheme: 'presign', signature: '0x' };
    const result = await book.orders.submit(submitted as never);
    if (result.status !== 'accepted') throw new Error(`an order was not accepted: ${JSON.stringify(result)}`);
    const { uid } = result as { uid: Hex };
    const owner = signer.address.toLowerCase() as Hex;
    const order = (await book.orders.get(uid)) as Order;
    orders.push({
      order,
      signer,
      presignature: isSigned ? undefined : { event: 'PreSignature', owner, orderUid: uid, signed: true },
    });
  }
  return orders;
}
