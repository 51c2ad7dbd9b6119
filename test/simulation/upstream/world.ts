import type { Hex, OrderBook, StoredEvent, UpstreamOrderState } from 'intentbook';
import { createOrderBook } from 'intentbook';
import { memoryStore } from 'intentbook/memory';
import { cancellationTypedData, orderTypedData, orderUid, signingDomain, typedDataDigest } from 'intentbook/sign';
import { directUpstream } from '../../support/upstream/direct-upstream.ts';
import { createEventClock } from '../auctions/event-clock.ts';
import { createSeededRandom } from '../machine/random.ts';
import { createTrace } from '../machine/trace.ts';
import { loadRecovery, loadSigners } from '../orders/keys.ts';
import { BUY_TOKEN, CHAIN_ID, SELL_TOKEN } from '../orders/pool-order.ts';
import type { Violation } from '../simulate.ts';
import { type Act, type Block, drawAct, type Fill, PLACER, place, remine, toEvents } from './blocks.ts';
import { createKillableStore } from './killable.ts';

const START = 1_700_000_000_000;

const FAULTS = [undefined, undefined, undefined, 'lost', 'late', 'vanished', 'blocked', 'doubled'] as const;

const SCHEMES = ['eip712', 'eip712', 'presign', 'eip1271'] as const;

interface KnownOrder {
  readonly uid: Hex;
  /** Absent: it was placed on chain. */
  readonly creation?: unknown;
  /** -1: a contract. */
  readonly signer: number;
  readonly sellAmount: bigint;
  readonly buyAmount: bigint;
  readonly validTo: number;
  /** What this book has answered to its submission. */
  claim?: 'accepted' | 'rejected' | 'unknown';
  /** Whether this book has to know it: it was submitted here, or is followed. */
  isKnown: boolean;
  /** Whether it was submitted to the other book. */
  isElsewhere?: boolean;
}

/**
 * Milliseconds for which reads are older than writes, and after which a block is final. Their sum is what a book waits
 * before it trusts the end of an order.
 */
const LONGEST_LAG = 300_000;
const FINALITY = 900_000;

/**
 * Simulates a book in front of another one. Answers are lost, late and doubled; reads are older than writes; the other
 * book is down; the process is killed; orders are posted and cancelled elsewhere; blocks are forked and sent to the two
 * books at different times. At the end all faults stop, and both books must agree with each other, and with the chain.
 */
export async function simulateUpstream(seed: string, keepsTrace: boolean) {
  const random = createSeededRandom(`upstream ${seed}`);
  const clock = createEventClock(START);
  const trace = createTrace(() => clock.now() - START, keepsTrace);
  const [recovery, signers] = await Promise.all([loadRecovery(), loadSigners(3)]);
  const domain = signingDomain({ chainId: CHAIN_ID });
  let violation: Violation | undefined;
  const report = (invariant: string, details: string) => {
    violation ??= { invariant, details, time: clock.now() - START };
  };
  const relay = random.chance(0.7) ? 'direct' : 'queue';
  /** Draws what contracts do. In half of the seeds there are none. */
  const contracts = random.derive('contracts');
  const hasContracts = contracts.chance(0.5);
  /** Whether this book reads the chain. Otherwise it takes everything from the other one. */
  const hasNode = !hasContracts || contracts.chance(0.5);
  const common = {
    chainId: CHAIN_ID,
    clock,
    recovery,
    limits: { minValidity: 0 },
    eip1271: 'accept-unverified',
  } as const;
  /** Owners whose orders the other book rejects. */
  const denied = new Set<string>();
  const isDenied = (owner: string) => denied.has(owner);
  /** Whether the other book rejects replacements, because solvers bid on the old orders. */
  let isBidOn = false;
  const other = createOrderBook({
    ...common,
    // A rejection that passes when an order ends.
    limits: { ...common.limits, ...(random.chance(0.3) && { maxOpenOrders: 3 }) },
    store: memoryStore(),
    profile: 'production',
    isDenied,
    isActivelyBidOn: () => isBidOn,
  });
  const upstream = directUpstream(other, clock);
  if (random.derive('dates').chance(0.5))
    upstream.change = (order) => ({ ...order, creationDate: order.creationDate.replace('Z', '') });
  const storage = memoryStore();
  const orders: KnownOrder[] = [];
  const chain: Block[] = [];
  const times = { indexed: 0, blocks: 0, transactions: 0, forks: 0, operations: 0, follows: 0 };
  let frozenSince = Number.POSITIVE_INFINITY;
  let process = createKillableStore(storage);
  let book: OrderBook = other; // until it is opened
  let pending: Promise<unknown>[] = [];

  async function open(): Promise<void> {
    process = createKillableStore(storage);
    book = createOrderBook({ ...common, store: process.store, upstream, relay });
    const starting = book.start();
    await clock.pass(1);
    await starting;
  }

  function createOrder(replaced?: KnownOrder): KnownOrder {
    const signer = replaced === undefined || replaced.signer < 0 ? random.integer(0, 2) : replaced.signer;
    const metadata = replaced === undefined ? {} : { replacedOrder: { uid: replaced.uid } };
    const [sellAmount, buyAmount] = [BigInt(1000 + orders.length), BigInt(500)];
    const signingScheme = replaced === undefined && hasContracts ? contracts.pick(SCHEMES) : 'eip712';
    // Their pre-signatures and invalidations are compared at the end.
    const isLong = signingScheme !== 'eip712' && contracts.chance(0.4);
    const validTo = Math.floor(clock.now() / 1000) + random.integer(60, 1500) + (isLong ? 100_000 : 0);
    const terms = {
      sellToken: SELL_TOKEN,
      buyToken: BUY_TOKEN,
      receiver: null,
      sellAmount: String(sellAmount),
      buyAmount: String(buyAmount),
      validTo,
      appData: JSON.stringify({ version: '1.1.0', metadata }),
      feeAmount: '0',
      kind: 'sell',
      partiallyFillable: true,
      sellTokenBalance: 'erc20',
      buyTokenBalance: 'erc20',
    } as const;
    const account = signers[signer];
    if (account === undefined) throw new Error('there is no such signer');
    const signed = account.sign(typedDataDigest(orderTypedData(domain, terms)));
    const signature = { eip712: signed, presign: '0x', eip1271: '0xabcd' }[signingScheme];
    const creation = { ...terms, from: account.address, signature, signingScheme };
    const uid = orderUid(orderTypedData(domain, terms), account.address);
    const order: KnownOrder = { uid, creation, signer, sellAmount, buyAmount, validTo, isKnown: true };
    orders.push(order);
    return order;
  }

  /** Runs a call of a client, whose answer may come late or never. */
  function call<T>(name: string, work: () => Promise<T>, onEnd: (result: T) => void): void {
    times.operations++;
    const running = work().then(
      (result) => {
        trace.add(`${name} ends`);
        onEnd(result);
      },
      () => trace.add(`${name} fails`), // the process was killed or closed
    );
    pending.push(running);
  }

  function submit(): void {
    const replaced = orders.length > 0 && random.chance(0.2) ? random.pick(orders.slice(-8)) : undefined;
    const order = createOrder(replaced);
    const fault = random.pick(FAULTS);
    if (fault !== undefined) upstream.faults.push(fault);
    trace.add(`submit ${order.uid.slice(0, 10)} ${fault ?? ''} ${replaced?.uid.slice(0, 10) ?? ''}`);
    call(
      `submit ${order.uid.slice(0, 10)}`,
      () => book.orders.submit(order.creation as never),
      (result) => {
        order.claim = result.status;
      },
    );
  }

  async function postElsewhere(): Promise<void> {
    const order = createOrder();
    Object.assign(order, { isKnown: false, isElsewhere: true });
    await other.orders.submit(order.creation as never);
    trace.add(`elsewhere ${order.uid.slice(0, 10)}`);
    const scope = random.chance(0.85) ? { uids: [order.uid] } : { owners: [`0x${order.uid.slice(66, 106)}`] };
    call(
      'follow',
      async () => book.upstream?.follow(scope),
      () => {
        order.isKnown = true;
      },
    );
  }

  function cancel(target: OrderBook): void {
    const order = orders.length === 0 ? undefined : random.pick(orders);
    const account = order && signers[order.signer];
    if (order === undefined || account === undefined) return;
    const others = orders.slice(-12).filter((each) => each.signer === order.signer && random.chance(0.3));
    const orderUids = [...new Set([order, ...(random.chance(0.4) ? others : [])].map(({ uid }) => uid))];
    const signature = account.sign(typedDataDigest(cancellationTypedData(domain, orderUids)));
    if (target === book) {
      const fault = random.pick(FAULTS);
      if (fault !== undefined) upstream.faults.push(fault);
    }
    trace.add(`cancel ${orderUids.map((uid) => uid.slice(0, 10)).join()} ${target === book ? 'here' : 'there'}`);
    call(
      'cancel',
      () => target.orders.cancel({ orderUids, signature, signingScheme: 'eip712' }),
      () => {},
    );
  }

  const nextHash = (letter: string, n: number): Hex => `0x${letter}${n.toString(16).padStart(63, '0')}`;

  const tell = async (to: OrderBook, block: Block) => {
    const events = toEvents(block);
    await to.chain.apply({ events, through: { number: block.number, hash: block.hash } });
  };

  /** Fills orders that the other book has, as a solver would: within their amounts. */
  async function drawFills(): Promise<Fill[]> {
    const fills: Fill[] = [];
    for (let left = random.integer(0, 2); left > 0; left--) {
      const order = orders.length === 0 ? undefined : random.pick(orders);
      const known = order && (await other.orders.get(order.uid));
      if (order === undefined || known?.status !== 'open' || fills.some(({ uid }) => uid === order.uid)) continue;
      const rest = order.sellAmount - BigInt(known.executedSellAmount);
      const sold = random.chance(0.5) ? rest : rest / 2n;
      if (sold <= 0n) continue;
      const bought = sold;
      fills.push({ uid: order.uid, sold, bought, transactionHash: nextHash('c', ++times.transactions) });
    }
    return fills;
  }

  async function drawActs(): Promise<Act[]> {
    if (!hasContracts) return [];
    const transactionHash = nextHash('d', ++times.transactions);
    if (contracts.chance(0.1)) {
      const follow = async () => book.upstream?.follow({ owners: [PLACER] });
      if (contracts.chance(0.5)) call('follow', follow, () => void times.follows++);
      const userValidTo = Math.floor(clock.now() / 1000) + contracts.integer(60, 1500);
      const { act, order } = place(BigInt(10_000 + times.transactions), userValidTo, transactionHash);
      orders.push(order);
      return [act];
    }
    const order = orders.length === 0 ? undefined : await other.orders.get(contracts.pick(orders).uid);
    return drawAct(contracts, order, transactionHash);
  }

  async function mine(): Promise<void> {
    const [acts, fills] = [await drawActs(), await drawFills()];
    await append({ acts, fills });
  }

  async function append({ acts, fills }: Pick<Block, 'acts' | 'fills'>): Promise<void> {
    const number = chain.length + 1;
    const timestamp = Math.floor(clock.now() / 1000);
    const block = { number, hash: nextHash('b', ++times.blocks), timestamp, acts, fills };
    chain.push(block);
    await tell(other, block);
    const names = acts.map(({ uid = '', happening }) => `${happening.event} ${uid.slice(0, 10)}`);
    trace.add(`block ${number} ${names} ${fills.map(({ uid, sold }) => `${uid.slice(0, 10)} ${sold}`)}`);
  }

  /** Lets this book index the blocks that it does not have. Its node lags behind that of the other book. */
  async function index(): Promise<void> {
    while (hasNode && times.indexed < chain.length) {
      const block = chain[times.indexed];
      if (block === undefined) return;
      await tell(book, block);
      times.indexed++;
    }
  }

  async function fork(): Promise<void> {
    const oldest = (clock.now() - FINALITY) / 1000;
    const depth = Math.min(chain.filter(({ timestamp }) => timestamp > oldest).length, random.integer(1, 3));
    if (depth === 0) return;
    times.forks++;
    const removed = chain.splice(-depth);
    await other.chain.rollback(chain.length);
    if (times.indexed > chain.length) {
      await book.chain.rollback(chain.length);
      times.indexed = chain.length;
    }
    trace.add(`fork of ${depth}`);
    // Some of the transactions are mined again.
    for (const block of remine(removed, () => random.chance(0.5))) await append(block);
  }

  async function freeze(isFrozen: boolean): Promise<void> {
    frozenSince = isFrozen ? clock.now() : Number.POSITIVE_INFINITY;
    await upstream.freeze(isFrozen);
  }

  async function restart(isKilled: boolean): Promise<void> {
    trace.add(isKilled ? 'kill' : 'restart');
    if (isKilled) await process.kill();
    else {
      const closing = book.close();
      await clock.pass(30_000);
      await closing;
    }
    pending = [];
    await open();
  }

  async function settleDown(): Promise<void> {
    upstream.faults.length = 0;
    denied.clear();
    isBidOn = false;
    upstream.setDown(false);
    await freeze(false);
    await upstream.deliver();
    await index();
    await clock.pass(2_400_000);
    await index();
    await clock.pass(60_000);
  }

  async function check(): Promise<void> {
    const log = await storage.events.after(0, 1_000_000);
    for (const order of orders) {
      const name = `${order.uid.slice(0, 10)} (${order.claim ?? 'no answer'})`;
      const [here, there] = [await book.orders.get(order.uid), await other.orders.get(order.uid)];
      const state: UpstreamOrderState | undefined = await book.upstream?.order(order.uid);
      const isKnown = order.signer < 0 ? hasNode || times.follows > 0 : order.isKnown;
      if (here === undefined && there !== undefined && isKnown) report('missing', `${name} is at the other book only`);
      if (here !== undefined && there === undefined && here.status !== 'cancelled' && here.status !== 'expired')
        report('orphans', `${name} is ${here.status} here, and the other book does not have it`);
      if (order.claim === 'rejected' && there !== undefined) report('claims', `${name} is at the other book`);
      if (order.claim === 'accepted' && relay === 'direct' && there === undefined)
        report('claims', `${name} is not at the other book`);
      // An order that never arrived is looked up for a day after its end.
      const hasExpired = order.validTo * 1000 < clock.now();
      const isLookedUp = state?.relay?.state === 'unknown' && hasExpired && there === undefined;
      if (state?.relay !== undefined && state.relay.state !== 'rejected' && !isLookedUp)
        report('relay', `${name} is still ${state.relay.state}`);
      if (here === undefined || there === undefined) continue;
      // An order that its owner has cancelled was given up, arrived late, and expired before it was cancelled there.
      const isLate = here.status === 'cancelled' && there.status === 'expired' && state?.relay?.state === 'rejected';
      if (here.status !== there.status && !isLate)
        report('status', `${name} is ${here.status} here, ${there.status} there`);
      if (order.isElsewhere && here.creationDate !== there.creationDate)
        report('dates', `${name} was created at ${here.creationDate} here, ${there.creationDate} there`);
      const totals = [here.executedSellAmount, here.executedBuyAmount].join();
      if (totals !== [there.executedSellAmount, there.executedBuyAmount].join())
        report('totals', `${name} has traded ${totals} here, ${there.executedSellAmount} there`);
      checkLog(
        name,
        log.filter(({ uid }) => uid === order.uid),
        order,
      );
    }
  }

  /** Each fact has one entry: the entries that are not reverted are what the chain and the other book have. */
  function checkLog(name: string, entries: readonly StoredEvent[], order: KnownOrder): void {
    const counts = new Map<string, number>();
    for (const { type, cause } of entries) {
      const isReverted = type === 'reverted';
      const fact = isReverted ? cause?.reverted : type;
      if (fact === 'expired' || fact === 'reinstated') continue;
      // Contracts sign again, and a placement that is mined again is a new order.
      if (hasContracts && fact !== 'traded' && fact !== 'cancelled') continue;
      const place = fact === 'traded' ? ` ${cause?.position.transactionHash} ${cause?.position.blockNumber}` : '';
      counts.set(`${fact}${place}`, (counts.get(`${fact}${place}`) ?? 0) + (isReverted ? -1 : 1));
    }
    const fills = chain.flatMap(({ number, fills }) =>
      fills.filter(({ uid }) => uid === order.uid).map(({ transactionHash }) => `traded ${transactionHash} ${number}`),
    );
    for (const [fact, count] of counts) {
      if (count < 0 || count > 1) report('log', `${name}: ${fact} has ${count} entries`);
      if (count === 1 && fact.startsWith('traded') && !fills.includes(fact))
        report('log', `${name}: ${fact} is not on chain`);
    }
    for (const fill of fills) if (counts.get(fill) !== 1) report('log', `${name}: ${fill} has no entry`);
  }

  const starting = other.start();
  await clock.pass(1);
  await starting;
  await open();
  for (let step = random.integer(25, 60); step > 0 && violation === undefined; step--) {
    const dice = random.fraction();
    if (dice < 0.25) submit();
    else if (dice < 0.33) await postElsewhere();
    else if (dice < 0.43) cancel(book);
    else if (dice < 0.48) cancel(other);
    else if (dice < 0.65) await mine();
    else if (dice < 0.72) await index();
    else if (dice < 0.77) await fork();
    else if (dice < 0.82) upstream.setDown(random.chance(0.5));
    else if (dice < 0.87) await freeze(random.chance(0.5));
    else if (dice < 0.93) await upstream.deliver();
    else if (dice < 0.94) isBidOn = random.chance(0.5);
    else if (dice < 0.96) {
      const { address } = random.pick(signers);
      if (!denied.delete(address)) denied.add(address);
      trace.add(`denied ${denied.size}`);
    } else await restart(random.chance(0.6));
    await clock.pass(random.integer(1, random.chance(0.2) ? 120_000 : 3_000));
    if (frozenSince + LONGEST_LAG < clock.now()) await freeze(false);
  }
  if (violation === undefined) await settleDown();
  if (violation === undefined) await check();
  const closing = Promise.all([book.close(), other.close()]);
  await clock.pass(60_000);
  await closing;
  const base = {
    hash: trace.hash,
    lines: trace.lines,
    operations: times.operations,
    commits: times.blocks,
    forks: times.forks,
    duration: clock.now() - START,
  };
  return violation === undefined ? base : { ...base, violation };
}
