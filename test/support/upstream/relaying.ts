import { createOrderBook, type Hex, type Order, type OrderBook, type Store } from 'intentbook';
import { memoryStore } from 'intentbook/memory';
import { orderBookUpstream } from 'intentbook/upstream';
import { manualClock } from '../clock.ts';
import { account, SEPOLIA, signOrder } from '../orders.ts';
import { createRandom } from './bad-proxy.ts';
import { createNetwork, type NetworkFault } from './network.ts';

/** Submissions to a book in front of another one, over a network with faults. */
export interface RelayPlan {
  readonly seed: number;
  readonly submissions: number;
  readonly relay: 'direct' | 'queue';
  /** Submissions a second. */
  readonly rate: number;
  readonly faults: Readonly<Partial<Record<NetworkFault, number>>>;
}

/** What the submissions became. */
export interface RelayFigures {
  readonly accepted: number;
  readonly rejected: number;
  readonly unavailable: number;
  readonly requests: number;
  readonly restarts: number;
  /** Orders of which this book claims something else than the other one knows. */
  readonly problems: readonly string[];
}

/** Every tenth order sells nothing that the other book accepts: its owner is deny-listed there. */
const DENIED = 10;
const STEP = 250;
const RESTART = 200_000;

/** Submits orders, and compares what was claimed with the table of the other book. Time is virtual. */
export async function playRelay(plan: RelayPlan, store: Store = memoryStore()): Promise<RelayFigures> {
  const random = createRandom(plan.seed);
  const clock = manualClock();
  const limits = { maxOpenOrders: plan.submissions, maxPendingOrders: plan.submissions };
  const signers = Array.from({ length: 40 }, (_, i) => account(i + 1));
  const denied = new Set(signers.filter((_, i) => i % DENIED === 0).map(({ address }) => address.toLowerCase()));
  const common = { chainId: SEPOLIA, clock, limits } as const;
  const isDenied = (address: string) => denied.has(address);
  const other = createOrderBook({ ...common, store: memoryStore(), profile: 'production', isDenied });
  const network = createNetwork(other, clock);
  network.draw = () => {
    let rest = random();
    for (const [fault, share] of Object.entries(plan.faults)) {
      rest -= share;
      if (rest < 0) return fault as NetworkFault; // its keys
    }
    return undefined;
  };
  // The budget of production would need an hour for 10,000 orders.
  const budget = { read: 50, write: 50, quote: 50, concurrency: 8 };
  const upstream = orderBookUpstream({ url: 'http://other.example', fetch: network.fetch, budget });
  const start = async (): Promise<OrderBook> => {
    const book = createOrderBook({ ...common, store, upstream, relay: plan.relay });
    await book.start();
    return book;
  };
  await other.start();
  let book = await start();
  let restarts = 0;

  async function pass(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= STEP) {
      clock.advance(Math.min(STEP, left));
      for (let turns = 0; turns < 6 || network.underWay > 0; turns++) await new Promise((run) => setImmediate(run));
    }
  }
  for (let i = 0; i < 50; i++) {
    await pass(STEP);
    await new Promise((resolve) => setTimeout(resolve, 2)); // modules are loaded in real time
  }

  const claims = new Map<Hex, string>();
  const waiting = new Set<Promise<unknown>>();
  const validTo = Math.floor(clock.now() / 1000) + 86_400;
  let sinceRestart = 0;
  for (let i = 0; i < plan.submissions; i++) {
    const signer = signers[i % signers.length] ?? account(1);
    const order = await signOrder(signer, { validTo, sellAmount: String(10n ** 18n + BigInt(i)) });
    const claim = book.orders.submit(order as never).then((result) => {
      if (result.status === 'accepted') claims.set(result.uid, 'accepted');
      else if ('error' in result) claims.set(`0x${i}`, result.error.code);
    });
    waiting.add(claim);
    void claim.finally(() => waiting.delete(claim));
    await pass(Math.ceil(1000 / plan.rate));
    sinceRestart += 1000 / plan.rate;
    if (sinceRestart > RESTART) {
      await book.close();
      book = await start();
      [sinceRestart, restarts] = [0, restarts + 1];
    }
  }
  for (let i = 0; i < 200 && waiting.size > 0; i++) await pass(1000);
  // The resolver reads an unknown order for a minute; rejections of a queue are repeated.
  await pass(900_000);
  // An order waits for the earlier ones of its owner, each for a minute if its answer was lost.
  const isOnItsWay = async (uid: Hex) => {
    const state = (await book.upstream?.order(uid))?.relay?.state;
    return state !== undefined && state !== 'rejected';
  };
  for (const [uid, claim] of claims) {
    for (let i = 0; claim === 'accepted' && i < 600 && (await isOnItsWay(uid)); i++) await pass(60_000);
  }

  const problems: string[] = [];
  const codes = new Map<string, number>();
  for (const [uid, claim] of claims) {
    codes.set(claim, (codes.get(claim) ?? 0) + 1);
    if (claim !== 'accepted') continue;
    const [mine, theirs] = await Promise.all([book.orders.get(uid), other.orders.get(uid)]);
    const relay = (await book.upstream?.order(uid))?.relay?.state;
    // A queue has promised only to send. Where the other book rejects, the order ends here.
    const isReported = plan.relay === 'queue' && mine?.status === 'cancelled' && relay === 'rejected';
    if (theirs === undefined ? !isReported : mine?.status !== theirs.status || relay === 'rejected')
      problems.push(`${uid.slice(0, 10)}: ${mine?.status} here (${relay}), ${theirs?.status} there`);
  }
  // Also an order whose outcome was called unknown is here in the end, if the other book has it.
  for (const { uid, status } of await listAll(other)) {
    const mine = await book.orders.get(uid);
    if (mine?.status !== status) problems.push(`${uid.slice(0, 10)}: ${mine?.status} here, ${status} there`);
  }
  const here = [...claims].filter(([, claim]) => claim === 'accepted').length;
  const unavailable = codes.get('UpstreamUnavailable') ?? 0;
  if (claims.size !== plan.submissions)
    problems.push(`${claims.size} of ${plan.submissions} submissions have an answer`);
  await book.close();
  await other.close();
  return {
    accepted: here,
    rejected: plan.submissions - here - unavailable,
    unavailable,
    requests: network.sent,
    restarts,
    problems,
  };
}

async function listAll(book: OrderBook): Promise<Order[]> {
  const orders: Order[] = [];
  for (let cursor: string | undefined; ; ) {
    const page = await book.orders.list({ limit: 1000, ...(cursor === undefined ? {} : { cursor }) });
    orders.push(...page.orders);
    cursor = page.next;
    if (cursor === undefined) return orders;
  }
}
