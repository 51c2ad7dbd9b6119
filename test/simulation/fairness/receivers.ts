import type { Address, Channel, DeliveryResult, OrderBook, Subscription } from 'intentbook';
import { createOrderBook } from 'intentbook';
import type { Accounts } from 'intentbook/accounts';
import { AccountError, createAccounts } from 'intentbook/accounts';
import { memoryAccountStore, memoryStore } from 'intentbook/memory';
import { affiliateDomainSeparator, bytesToHex, subscriptionDigest } from '#internal';
import { address, word } from '../../conformance/orders.ts';
import { completeOrder } from '../../support/complete-orders.ts';
import { createEventClock } from '../auctions/event-clock.ts';
import { createSeededRandom } from '../machine/random.ts';
import { createTrace } from '../machine/trace.ts';
import { loadRecovery, loadSigners, type Signer } from '../orders/keys.ts';
import { BUY_TOKEN, CHAIN_ID, SELL_TOKEN } from '../orders/pool-order.ts';
import type { Violation } from '../simulate.ts';

const START = 1_700_000_000_000;
const VALID_TO = 4_000_000_000;
/** Rows that a claim of deliveries reads in a millisecond. */
const ROWS_PER_MS = 100;
/** Longest step on the event loop, in milliseconds. */
const MAX_STEP = 10;
/** Longest time from a fill to the receiver of its notification, in milliseconds: some claims and a fast attempt. */
const MAX_DELAY = 250;
/** Subscriptions of the attackers, more than a claim may read. */
const SUBSCRIPTIONS = 1_100;
/** Deliveries that may be released in a period, in milliseconds: each one, and those that wait. */
const PERIOD = 20_000;
const MAX_RELEASES = 3 * SUBSCRIPTIONS;
/** Invitations of the channel in a day: ten to a domain, 18 for accounts without orders. */
const INVITATIONS = 20;
const AUDIENCE = 'books.example';
const TYPES = ['order_filled'] as const;

/**
 * What the targets of the attackers have in common. Those of one account, host or address have worked before they
 * hang; the others have always failed or hung.
 */
const ATTACKS = ['failing', 'hanging', 'one account', 'one host', 'one address'] as const;

/** What the invitations of the attackers have in common. */
const INVITERS = ['one client', 'one account', 'one domain', 'no orders'] as const;

/**
 * Simulates accounts whose targets fail or hang, which request as many invitations as they can, and which repeat
 * signatures of another account. The notifications of that account must arrive at once, its invitation must be sent,
 * and each of its signatures must be used once. A claim of deliveries takes virtual time by the rows that it reads.
 */
export async function simulateReceivers(seed: string, keepsTrace: boolean) {
  const random = createSeededRandom(`receivers ${seed}`);
  const clock = createEventClock(START);
  const trace = createTrace(() => clock.now() - START, keepsTrace);
  const signers = await loadSigners(24);
  const [recovery, separator] = [await loadRecovery(), affiliateDomainSeparator('Service Affiliate')];
  const attack = random.pick(ATTACKS);
  let violation: Violation | undefined;
  const report = (invariant: string, details: string) => {
    violation ??= { invariant, details, time: clock.now() - START };
  };
  let [operations, blocks, batches, nonces, released, isHanging] = [0, 0, 0, 0, 0, attack === 'hanging'];
  let periodStart = START;
  const arrived = new Set<string>();

  const orders = memoryStore();
  const inner = memoryAccountStore();
  const store = { ...inner, deliveries: { ...inner.deliveries, claim, recordResult } };

  /** Records a result. A delivery that waits for its host or address must not be released again and again. */
  async function recordResult(request: Parameters<typeof inner.deliveries.recordResult>[0]) {
    if (clock.now() - periodStart > PERIOD) [periodStart, released] = [clock.now(), 0];
    if (isHanging && request.outcome.status === 'released' && ++released > MAX_RELEASES)
      report('claims', `${released} deliveries were released in ${PERIOD} ms`);
    return inner.deliveries.recordResult(request);
  }

  /** Claims deliveries. The memory store looks each due delivery up in the list of busy accounts. */
  async function claim(request: Parameters<typeof inner.deliveries.claim>[0]) {
    let rows = 0;
    const busy = [...(request.busyAccounts ?? [])];
    const includes = (account: Address) => {
      rows++;
      return busy.indexOf(account) >= 0;
    };
    const result = await inner.deliveries.claim({ ...request, busyAccounts: Object.assign([...busy], { includes }) });
    const duration = rows / ROWS_PER_MS;
    if (duration > MAX_STEP) report('claims', `a claim has read ${rows} rows, which takes ${duration} ms`);
    await new Promise<void>((resolve) => void clock.after(duration, resolve));
    return result;
  }

  async function send({ target }: Subscription, body: string, enter: (host: string) => boolean) {
    if (!target.startsWith('attacker')) {
      await new Promise<void>((resolve) => void clock.after(5, resolve));
      arrived.add((JSON.parse(body) as { metadata: { orderUid: string } }).metadata.orderUid); // a notification
      return { status: 'delivered' } as const;
    }
    if (!enter(attack === 'one address' ? 'shared' : target)) return { status: 'deferred' } as const;
    if (isHanging) return new Promise<DeliveryResult>(() => {});
    await new Promise<void>((resolve) => void clock.after(random.integer(1, 40), resolve));
    return attack === 'failing' ? ({ status: 'failed', error: 'down' } as const) : ({ status: 'delivered' } as const);
  }

  const base = { signs: false, parseTarget: (target: string) => target };
  const hooks: Channel = {
    ...base,
    name: 'hook',
    confirmation: 'none',
    getHost: (target) => (target.startsWith('attacker') && attack === 'one host' ? 'shared' : target),
    deliver: ({ subscription, body }, { enter }) => send(subscription, body, enter ?? (() => true)),
  };
  const mails: Channel = {
    ...base,
    name: 'mail',
    confirmation: 'token',
    invite: async () => undefined,
    deliver: async () => ({ status: 'delivered' }),
  };
  const book: OrderBook = createOrderBook({
    chainId: CHAIN_ID,
    clock,
    store: orders,
    recovery,
    limits: { minValidity: 0 },
  });
  const accounts: Accounts = createAccounts({
    books: [{ book, env: 'production' }],
    store,
    clock,
    recovery,
    audience: AUDIENCE,
    channels: [hooks, mails],
    maxInvitations: INVITATIONS,
    random: {
      bytes: (size) => Uint8Array.from({ length: size }, () => random.integer(0, 255)),
      uuid: () => 'holder',
      fraction: random.fraction,
    },
  });

  /** Lets a call end that needs no time. */
  async function call<T>(work: Promise<T>): Promise<T | AccountError> {
    operations++;
    const result = work.catch((failure) => {
      if (failure instanceof AccountError) return failure;
      throw failure;
    });
    await clock.pass(0);
    return result;
  }

  function sign(signer: Signer, target: string, channel = '', types: readonly string[] = [], validity = 200) {
    const [nonce, deadline] = [BigInt(++nonces), BigInt(Math.floor(clock.now() / 1000) + validity)];
    const terms = { account: signer.address, channel, target, types, nonce, deadline };
    const signature = signer.sign(bytesToHex(subscriptionDigest(separator, terms)));
    return { nonce: String(nonce), deadline: Number(deadline), signature };
  }

  const subscribe = (signer: Signer, channel: string, target: string, client: string) =>
    call(
      accounts.subscriptions.create(
        signer.address,
        { channel, target, types: TYPES, ...sign(signer, target, channel, TYPES) },
        { client },
      ),
    );

  /** Fills an order of the other account in a block. Returns its UID. */
  async function fill(owner: Address): Promise<string> {
    const number = ++blocks;
    const uid = `${word(number)}${owner.slice(2)}${VALID_TO.toString(16)}` as const;
    const changes = { uid, owner, sellToken: SELL_TOKEN, buyToken: BUY_TOKEN, validTo: VALID_TO };
    await orders.orders.insert([{ order: completeOrder(0, changes) }]);
    const position = { blockNumber: number, blockHash: word(number), logIndex: 0, transactionHash: word(number) };
    const amounts = { sellAmount: 1n, buyAmount: 1n, feeAmount: 0n };
    const tokens = { sellToken: SELL_TOKEN, buyToken: BUY_TOKEN };
    const timestamp = Math.floor(clock.now() / 1000);
    const trade = { event: 'Trade', ...position, timestamp, owner, ...tokens, ...amounts, orderUid: uid } as const;
    await call(book.chain.apply({ events: [trade], through: { number, hash: word(number) } }));
    return uid;
  }

  /** Fills an order of the other account, whose notification must arrive soon. */
  async function fillOther(): Promise<void> {
    const uid = await fill(other.address);
    await clock.pass(MAX_DELAY);
    trace.add(`filled ${uid.slice(60, 66)} ${arrived.has(uid)}`);
    if (!arrived.has(uid)) report('fairness', `the notification of ${uid} has not arrived after ${MAX_DELAY} ms`);
  }

  /** Adds a notification for each account of the attackers. */
  async function notifyAttackers(): Promise<void> {
    const through = ++batches;
    const changes = [...new Set(attackers.map(({ account }) => account))].map((account) => {
      const notification = { id: `${through} ${account}`, account, type: TYPES[0], at: clock.now(), body: '{}' };
      return { type: 'notify', notification } as const;
    });
    await inner.notifications.append({
      feed: 'attackers',
      after: through === 1 ? null : through - 1,
      through,
      changes,
    });
  }

  async function attackReceivers(): Promise<void> {
    await subscribe(other, 'hook', 'other', 'mine');
    await fillOther();
    for (const subscription of attackers) {
      const nonce = { account: subscription.account, nonce: subscription.id, expiresAt: START };
      await inner.subscriptions.create({ subscription, nonce, quota: SUBSCRIPTIONS, now: clock.now() });
    }
    await notifyAttackers();
    await fillOther();
    await clock.pass(random.integer(5_000, 10_000));
    isHanging = attack !== 'failing';
    for (let step = random.integer(4, 8); step > 0 && violation === undefined; step--) {
      if (random.chance(0.5)) await notifyAttackers();
      await clock.pass(random.integer(0, 2_000));
      await fillOther();
      await clock.pass(random.integer(0, 20_000));
    }
  }

  /** Requests 25 invitations for the attackers, and then one for another account. */
  async function attackInvitations(): Promise<void> {
    const inviter = random.pick(INVITERS);
    const outcomes: boolean[] = [];
    for (let i = 0; i < 25; i++) {
      const signer = at(signers, inviter === 'one account' ? 1 : 1 + (i % 20));
      const domain = inviter === 'one domain' ? 'same.example' : `${i}.example`;
      const client = inviter === 'one client' ? 'attacker' : `attacker ${i}`;
      outcomes.push(!((await subscribe(signer, 'mail', `user${i}@${domain}`, client)) instanceof AccountError));
    }
    // An account with orders has a reserve.
    const invited = inviter === 'no orders' ? other : at(signers, 22);
    const outcome = await subscribe(invited, 'mail', 'me@mine.example', 'mine');
    trace.add(`${inviter} ${outcomes.filter(Boolean).length}`);
    if (outcome instanceof AccountError) report('invitations', `${inviter}: ${outcome.message}`);
  }

  /** Repeats signatures of the other account, and uses them at another deployment. */
  async function attackProofs(): Promise<void> {
    const list = (proof: ReturnType<typeof sign>) => call(accounts.subscriptions.list(other.address, proof));
    const expectStatus = (name: string, outcome: unknown, expected: number | undefined) => {
      const status = outcome instanceof AccountError ? outcome.status : undefined;
      trace.add(`${name} ${status}`);
      if (status !== expected) report('proofs', `${name}: the status is ${status}, expected ${expected}`);
    };
    const proof = sign(other, AUDIENCE);
    expectStatus('a list', await list(proof), undefined);
    expectStatus('a list of another deployment', await list(sign(other, 'Service Affiliate')), 401);
    expectStatus('a list of an hour', await list(sign(other, AUDIENCE, '', [], 3_600)), 400);
    const request = { channel: 'hook', target: 'other 2', types: TYPES, ...sign(other, 'other 2', 'hook', TYPES) };
    const create = () => call(accounts.subscriptions.create(other.address, request));
    const created = await create();
    expectStatus('a subscription', created, undefined);
    expectStatus('a subscription again', await create(), 409);
    const id = 'id' in created ? created.id : '';
    const removal = sign(other, id);
    const remove = () => call(accounts.subscriptions.remove(other.address, id, removal));
    expectStatus('a removal', await remove(), undefined);
    expectStatus('a removal again', await remove(), 409);
    await clock.pass(random.integer(201, 300) * 1_000);
    expectStatus('a list after its deadline', await list(proof), 401);
  }

  const other = at(signers, 0);
  const count = attack === 'one account' ? 40 : SUBSCRIPTIONS;
  const attackers = Array.from({ length: count }, (_, i): Subscription => {
    const account = address(attack === 'one account' ? 0xa000 : 0xa000 + i);
    const made = { id: `attacker ${i}`, account, channel: 'hook', target: `attacker ${i}`, types: TYPES } as const;
    return { ...made, state: 'active', secret: null, createdAt: START };
  });
  trace.add(attack);
  const starting = book.start();
  await clock.pass(1);
  await starting;
  await call(accounts.start());
  await attackReceivers();
  if (violation === undefined) await attackInvitations();
  if (violation === undefined) await attackProofs();
  const closing = accounts.close().then(() => book.close());
  await clock.pass(60_000);
  await closing;
  const result = {
    hash: trace.hash,
    lines: trace.lines,
    operations,
    commits: blocks,
    forks: 0,
    duration: clock.now() - START,
  };
  return violation === undefined ? result : { ...result, violation };
}

function at<T>(list: readonly T[], index: number): T {
  return list[index] as T; // within the list
}
