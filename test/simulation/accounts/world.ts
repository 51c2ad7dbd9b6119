import type { Address, Hex, OrderBook, Store } from 'intentbook';
import { createOrderBook } from 'intentbook';
import type { Accounts, Notification } from 'intentbook/accounts';
import { createAccounts } from 'intentbook/accounts';
import type { ProtocolEvent } from 'intentbook/chain-events';
import { memoryAccountStore, memoryStore } from 'intentbook/memory';
import { NATIVE_MARKER } from '#internal';
import { createEventClock } from '../auctions/event-clock.ts';
import { createSeededRandom } from '../machine/random.ts';
import { createTrace } from '../machine/trace.ts';
import { loadRecovery } from '../orders/keys.ts';
import { CHAIN_ID } from '../orders/pool-order.ts';
import type { Violation } from '../simulate.ts';
import type { ForeignToken } from './foreign.ts';
import { createForeignSources, FOREIGN_MODES } from './foreign.ts';
import { createPlacement, WRAPPED } from './placement.ts';
import type { Fact, PlacedOrder } from './sentences.ts';
import { hasAmounts, listSentences } from './sentences.ts';

const START = 1_700_000_000_000;
const addressOf = (n: number): Address => `0x${n.toString(16).padStart(40, '0')}`;
const TRADERS = [addressOf(0x7a01), addressOf(0x7a02)];

interface Block {
  readonly number: number;
  readonly hash: Hex;
  readonly facts: readonly Fact[];
  readonly placed: readonly { readonly order: PlacedOrder; readonly event: ProtocolEvent }[];
}

/**
 * Simulates the account interface of a book whose orders contracts have placed: fills, cancellations and expiries,
 * forks with the same transactions, restarts, replaced and older stores of the book and of the accounts, another name
 * of the environment, and foreign sources that fail and lie. Compares lists, sentences and prices with the chain.
 */
export async function simulateAccounts(seed: string, keepsTrace: boolean) {
  const random = createSeededRandom(`accounts ${seed}`);
  const clock = createEventClock(START);
  const trace = createTrace(() => clock.now() - START, keepsTrace);
  const recovery = await loadRecovery();
  let violation: Violation | undefined;
  const report = (invariant: string, details: string) => {
    violation ??= { invariant, details, time: clock.now() - START };
  };
  const native: ForeignToken = { address: NATIVE_MARKER, decimals: 18, symbol: 'ETH' };
  const bought: ForeignToken[] = [
    { address: addressOf(0xb0), decimals: 0, symbol: 'WHOLE' },
    { address: addressOf(0xb6), decimals: 6, symbol: 'SIX' },
    { address: addressOf(0xb18), decimals: 18, symbol: 'EIGHTEEN' },
  ];
  const foreign = createForeignSources(random.derive('foreign'), bought, clock);
  const orders: PlacedOrder[] = [];
  const chain: Block[] = [];
  const forgotten: Fact[] = [];
  /** Facts whose notification has existed, with the amounts that it had, and those that were corrected. */
  let notified = new Set<string>();
  let wasBookLost = false;
  let [blocks, forks, operations, transactions] = [0, 0, 0, 0];
  let store: Store = memoryStore();
  let accountStore = memoryAccountStore();
  let book: OrderBook;
  let accounts: Accounts;

  async function open(): Promise<void> {
    book = createOrderBook({
      chainId: CHAIN_ID,
      store,
      clock,
      recovery,
      eip1271: 'accept-unverified',
      limits: { minValidity: 0 },
    });
    accounts = createAccounts({
      books: [{ book, env: random.pick(['production', 'renamed']) }],
      store: accountStore,
      clock,
      recovery,
      revertedNotifications: 'on',
      tokens: foreign.tokens,
      announcements: foreign.announcements,
      usdPrices: { sources: foreign.prices, cacheTtl: 0 },
      random: { bytes: (size) => new Uint8Array(size), uuid: () => 'holder', fraction: random.fraction },
    });
    const opening = book.start();
    await clock.pass(1);
    await opening;
    const starting = accounts.start();
    await clock.pass(1);
    await starting;
  }

  async function close(): Promise<void> {
    const closing = accounts.close().then(() => book.close());
    await clock.pass(3_000);
    await closing;
  }

  async function apply(block: Block): Promise<void> {
    const events: ProtocolEvent[] = [
      ...block.placed.map(({ event }) => event),
      ...block.facts.map((fact, i): ProtocolEvent => {
        const position = {
          blockNumber: block.number,
          blockHash: block.hash,
          logIndex: 100 + i,
          timestamp: timestampOf(block),
          transactionHash: fact.tx,
        };
        const { uid: orderUid, buy } = fact.order;
        const owner: Address = `0x${orderUid.slice(66, 106)}`;
        if (fact.type === 'invalidation') return { ...position, event: 'OrderInvalidated', owner, orderUid };
        const amounts = { sellAmount: fact.sold, buyAmount: fact.bought, feeAmount: 0n };
        return { ...position, event: 'Trade', owner, sellToken: WRAPPED, buyToken: buy.address, ...amounts, orderUid };
      }),
    ];
    const outcome = await book.chain.apply({ events, through: { number: block.number, hash: block.hash } });
    if (outcome.status !== 'applied') report('blocks', `block ${block.number} is ${outcome.status}`);
  }

  const times = new Map<Hex, number>();
  const timestampOf = ({ hash }: Block) => times.get(hash) ?? 0;
  const nextHash = (): Hex => `0x${(++transactions).toString(16).padStart(64, '0')}`;

  async function mine(facts: readonly Fact[], placed: Block['placed'] = []): Promise<void> {
    const block: Block = {
      number: chain.length + 1,
      hash: `0xb${(++blocks).toString(16).padStart(63, '0')}`,
      facts,
      placed,
    };
    times.set(block.hash, Math.floor(clock.now() / 1000));
    chain.push(block);
    await apply(block);
    trace.add(`block ${block.number} ${facts.map(({ type, tx }) => `${type} ${tx.slice(-4)}`)}`);
  }

  const onChain = () => chain.flatMap(({ facts }) => facts);

  async function place(): Promise<void> {
    const buy = random.pick(bought);
    const index = orders.length;
    const { order, event } = createPlacement({
      trader: random.pick(TRADERS),
      kind: random.pick(['sell', 'buy']),
      sell: native,
      buy,
      sellAmount:
        BigInt(random.integer(1, 9)) * 10n ** BigInt(random.pick([0, 3, 17, 18])) + BigInt(random.integer(0, 9)),
      buyAmount: BigInt(random.integer(1, 999_999)) * 100n + BigInt(index),
      validTo: Math.floor(clock.now() / 1000) + random.integer(60, 1_200),
      block: { number: chain.length + 1, hash: `0xb${(blocks + 1).toString(16).padStart(63, '0')}` },
      timestamp: Math.floor(clock.now() / 1000),
      tx: nextHash(),
    });
    orders.push(order);
    await mine([], [{ order, event }]);
  }

  /** Returns new facts of live orders: each order has one at most in a block. */
  function drawFacts(): Fact[] {
    const now = Math.floor(clock.now() / 1000);
    const facts: Fact[] = [];
    for (const order of orders) {
      if (order.validTo <= now || !random.chance(0.4)) continue;
      const before = onChain().filter((each) => each.order === order);
      if (before.some(({ type }) => type === 'invalidation')) continue;
      const sold = before.reduce((sum, each) => sum + (each.type === 'trade' ? each.sold : 0n), 0n);
      const got = before.reduce((sum, each) => sum + (each.type === 'trade' ? each.bought : 0n), 0n);
      const left = order.kind === 'sell' ? order.sellAmount - sold : order.buyAmount - got;
      if (left <= 0n) continue;
      if (random.chance(0.15)) {
        facts.push({ type: 'invalidation', order, tx: nextHash() });
        continue;
      }
      // All, one atom, or a part.
      const part = random.pick([left, 1n, left / 3n + 1n]);
      const other = BigInt(random.integer(1, 1_000_000));
      const amounts = order.kind === 'sell' ? { sold: part, bought: other } : { sold: other, bought: part };
      facts.push({ type: 'trade', order, tx: nextHash(), ...amounts });
    }
    return facts;
  }

  /** Replaces the newest blocks. The same transactions can be mined again, with other amounts. */
  async function fork(): Promise<void> {
    const lastPlaced = chain.findLastIndex(({ placed }) => placed.length > 0) + 1;
    const depth = Math.min(random.integer(1, 3), chain.length - lastPlaced);
    if (depth < 1) return;
    forks++;
    const removed = chain.splice(chain.length - depth);
    await book.chain.rollback(chain.length);
    trace.add(`fork to ${chain.length}`);
    const lost = removed.flatMap(({ facts }) => facts);
    forgotten.push(...lost);
    if (random.chance(0.5)) await rest();
    for (let i = 0; i < depth; i++) {
      const again: Fact[] = [];
      for (const fact of i === depth - 1 ? lost : []) {
        const isFree = !onChain().some((each) => each.tx === fact.tx);
        if (!isFree || !random.chance(0.6) || fact.order.validTo <= clock.now() / 1000) continue;
        if (again.some(({ order }) => order === fact.order)) continue;
        const isOpen = isStillOpen(fact);
        if (!isOpen) continue;
        again.push(fact.type === 'trade' && random.chance(0.3) ? { ...fact, bought: fact.bought + 1n } : fact);
      }
      await mine(again);
    }
  }

  function isStillOpen({ order }: Fact): boolean {
    const before = onChain().filter((each) => each.order === order);
    const sold = before.reduce((sum, each) => sum + (each.type === 'trade' ? each.sold : 0n), 0n);
    const got = before.reduce((sum, each) => sum + (each.type === 'trade' ? each.bought : 0n), 0n);
    const isFull = order.kind === 'sell' ? sold >= order.sellAmount : got >= order.buyAmount;
    return !isFull && !before.some(({ type }) => type === 'invalidation');
  }

  /** Restarts; the book or the accounts can have a new store. A new book reads the chain again, in two parts. */
  async function restart(): Promise<void> {
    await close();
    const [isBookLost, areAccountsLost] = [random.chance(0.4), random.chance(0.25)];
    if (areAccountsLost) {
      accountStore = memoryAccountStore();
      notified = new Set();
    }
    if (isBookLost) {
      store = memoryStore();
      wasBookLost = true;
    }
    await open();
    trace.add(`restart ${isBookLost} ${areAccountsLost}`);
    if (!isBookLost) return;
    const half = random.integer(0, chain.length);
    for (const block of chain.slice(0, half)) await apply(block);
    if (random.chance(0.5)) await clock.pass(12_000);
    for (const block of chain.slice(half)) await apply(block);
  }

  /** Lets the book and the accounts come to rest, and compares them with the chain. */
  async function rest(): Promise<void> {
    await clock.pass(12_000);
    for (const trader of TRADERS) await compare(trader);
    const [token] = bought;
    // A failure of all sources rejects, so that it does not look like a token without a price.
    const reading = accounts.usdPrices.get(CHAIN_ID, token?.address ?? '').catch(() => undefined);
    await clock.pass(10);
    const price = (await reading)?.price;
    if (price !== foreign.expectedPrice())
      report('prices', `${price} is returned, expected ${foreign.expectedPrice()}`);
    if (foreign.requestsInPause > 0) report('pauses', 'a service has received a request in the time that it required');
  }

  async function compare(trader: Address): Promise<void> {
    operations++;
    const { notifications } = await accounts.notifications.list(trader);
    const now = Math.floor(clock.now() / 1000);
    const facts = onChain();
    const own = orders.filter((order) => order.trader === trader);
    const expected = new Map(listSentences(own, facts, now).map((each) => [each.key, each]));
    const seen = new Set<string>();
    const announced = new Map(foreign.expectedAnnouncements());
    for (const [i, notification] of notifications.entries()) {
      const { type, message, metadata, timestamp } = notification;
      const next = notifications[i + 1];
      if (next !== undefined && next.timestamp > timestamp)
        report('order', `${message} is listed before ${next.message}`);
      if (type === 'cms') {
        const id = Number(notification.id.slice('cms-'.length));
        if (announced.get(id)?.message !== message) report('announcements', `${message} is listed, or twice`);
        announced.delete(id);
      } else if (type === 'order_reverted') checkCorrection(notification, facts, seen);
      else {
        const key = `${type} ${metadata['orderUid']} ${metadata['txHash'] ?? ''}`;
        const sentence = expected.get(key);
        if (sentence === undefined || seen.has(key)) {
          report('notifications', `${message} is listed${seen.has(key) ? ' twice' : ', but not true'}`);
          continue;
        }
        // The sentence of an expiry has the amounts of its time. A later fork may have changed them. A new book that
        // reads old blocks expires orders before their fills.
        const isChanged = wasBookLost || forgotten.some(({ order }) => order.uid === metadata['orderUid']);
        const isOld = type === 'order_expired' && isChanged;
        if (!isOld && !(sentence.words.test(message) && hasAmounts(message, sentence.amounts)))
          report('sentences', `${message} for ${sentence.words} ${sentence.amounts.map(([atoms]) => atoms)}`);
        seen.add(key);
        notified.add(`${metadata['orderUid']} ${metadata['txHash'] ?? ''}`);
      }
    }
    // The last expiries may not be recorded yet.
    const recent = new Set(own.filter(({ validTo }) => validTo >= now - 8).map(({ uid }) => `order_expired ${uid} `));
    for (const { key } of expected.values())
      if (!seen.has(key) && !recent.has(key)) report('notifications', `${key} is missing`);
    if (announced.size > 0) report('announcements', `${[...announced.keys()]} are missing`);
    for (const fact of forgotten) {
      const isLost = !facts.some(({ tx, order }) => tx === fact.tx && order === fact.order);
      const key = `${fact.order.uid} ${fact.tx}`;
      if (fact.order.trader !== trader || !isLost || !notified.has(key) || seen.has(`lost ${key}`)) continue;
      report('corrections', `the loss of ${fact.type} ${key} is not notified`);
    }
  }

  /** Checks that a correction is true now, and has the amounts of its fact. */
  function checkCorrection({ message, metadata }: Notification, facts: readonly Fact[], seen: Set<string>): void {
    const isSame = ({ order, tx }: Fact) => order.uid === metadata['orderUid'] && tx === metadata['txHash'];
    const current = facts.find(isSame);
    const key = `lost ${metadata['orderUid']} ${metadata['txHash']}`;
    if ((current !== undefined) !== metadata['restored'] || seen.has(key))
      report('corrections', `${message} is listed, but is not true`);
    seen.add(key);
    const versions = current === undefined ? forgotten.filter(isSame) : [current];
    const isExact = versions.some((fact) => {
      const { order } = fact;
      const [sold, got] = fact.type === 'trade' ? [fact.sold, fact.bought] : [order.sellAmount, order.buyAmount];
      return hasAmounts(message, [
        [sold, order.sell],
        [got, order.buy],
      ]);
    });
    if (!isExact) report('corrections', `${message} has other amounts`);
  }

  await open();
  for (let left = random.integer(2, 5); left > 0; left--) await place();
  for (let step = random.integer(20, 40); step > 0 && violation === undefined; step--) {
    const dice = random.fraction();
    if (dice < 0.5) await mine(drawFacts());
    else if (dice < 0.65) await fork();
    else if (dice < 0.72) await restart();
    else if (dice < 0.82) foreign.mode = random.pick(FOREIGN_MODES);
    else if (dice < 0.88) foreign.publish(clock.now() - random.integer(-1_000, 100_000));
    else await rest();
    await clock.pass(random.integer(1, 40_000));
  }
  foreign.mode = 'honest';
  if (violation === undefined) await rest();
  await close();
  const base = {
    hash: trace.hash,
    lines: trace.lines,
    operations,
    commits: blocks,
    forks,
    duration: clock.now() - START,
  };
  return violation === undefined ? base : { ...base, violation };
}
