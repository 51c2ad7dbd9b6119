import type { Order } from 'intentbook';
import type { LocalAccount } from 'viem';
import { bytesToHex, concatHex, numberToHex } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import type { Signed } from '../../../bench/orders.ts';
import { hashText, signOrders } from '../../../bench/orders.ts';
import { signCancellation } from '../../support/orders.ts';
import type { Answer, Client } from './client.ts';

/** State of an order in the test. `…ing`: requested, without a response so far. */
interface Known {
  readonly uid: string;
  readonly signed: Signed;
  readonly owner: string;
  readonly signer: number;
  state: 'placing' | 'open' | 'cancelling' | 'cancelled';
  /** Text of the first response. */
  shown?: string;
}

const OWNERS = 64;
const LISTED = 50;
/** Number of orders after which few are added: caches are full then, and memory must stay constant. */
const PLENTY = 3000;
/** Number of orders that are signed together, small enough not to delay responses. */
const BATCH = 50;

/**
 * Sends requests and knows the expected responses. The state acknowledged before a request must appear in its
 * response; the effect of a running request may appear.
 */
export class Verifier {
  readonly wrong: string[] = [];
  readonly #all: Known[] = [];
  readonly #byUid = new Map<string, Known>();
  readonly #byOwner = new Map<string, Known[]>();
  readonly #random: () => number;
  readonly #seed: string;
  readonly #stock: Signed[] = [];
  #signed = 0;
  #given = 0;
  #signing: Promise<void> | undefined;

  constructor(seed: number) {
    this.#seed = `soak ${seed}`;
    let state = seed >>> 0 || 1;
    this.#random = () => {
      state ^= state << 13;
      state ^= state >>> 17;
      state ^= state << 5;
      return (state >>> 0) / 2 ** 32;
    };
  }

  get placed(): number {
    return this.#all.filter(({ state }) => state !== 'placing').length;
  }

  /** Sends one request of a kind. @returns the kind, or that no response arrived. */
  async send(client: Client): Promise<string> {
    const dice = this.#random();
    const known = this.#pick();
    if (known === undefined || dice < (this.#all.length < PLENTY ? 0.12 : 0.01)) return this.#place(client);
    if (dice < 0.55) return this.#get(client, known);
    if (dice < 0.75) return this.#getMany(client);
    if (dice < 0.87) return this.#list(client, known);
    if (dice < 0.92) return this.#cancel(client, known);
    if (dice < 0.95) return this.#again(client, known);
    if (dice < 0.98) return this.#unknown(client);
    return this.#garbage(client);
  }

  #pick(): Known | undefined {
    return this.#all[Math.floor(this.#random() * this.#all.length)];
  }

  #expect(fine: boolean, kind: string, answer: Answer): void {
    if (!fine && this.wrong.length < 20) this.wrong.push(`${kind}: ${JSON.stringify(answer).slice(0, 300)}`);
  }

  /** Orders are signed in advance, in batches, by the first caller without one. */
  async #next(): Promise<[Signed, number]> {
    for (;;) {
      const signed = this.#stock.shift();
      if (signed !== undefined) return [signed, this.#given++ % OWNERS];
      this.#signing ??= signOrders(this.#seed, this.#signed, BATCH).then((more) => {
        this.#stock.push(...more);
        this.#signed += BATCH;
        this.#signing = undefined;
      });
      await this.#signing;
    }
  }

  async #place(client: Client): Promise<string> {
    const [signed, signer] = await this.#next();
    const { owner, digest, order } = signed;
    const uid = concatHex([bytesToHex(digest), owner, numberToHex(order.validTo, { size: 4 })]);
    const known: Known = { uid, signed, owner, signer, state: 'placing' };
    this.#all.push(known);
    this.#byUid.set(uid, known);
    this.#byOwner.set(owner, [...(this.#byOwner.get(owner) ?? []), known]);
    const answer = await client.send('POST', '/api/v1/orders', order);
    if (answer === 'broken') return 'broken';
    this.#expect(answer.status === 201 && answer.body === uid, 'place', answer);
    known.state = 'open';
    return 'place';
  }

  /** Checks an order in a response against the state at the request. */
  #isRight(order: Order, before: Known['state']): boolean {
    const known = this.#byUid.get(order.uid);
    if (known === undefined) return false;
    const { sellAmount, buyAmount, validTo, signature } = known.signed.order;
    const same =
      order.owner === known.owner &&
      order.sellAmount === sellAmount &&
      order.buyAmount === buyAmount &&
      order.validTo === validTo &&
      order.signature === signature &&
      order.executedSellAmount === '0';
    known.shown ??= order.creationDate;
    // It can be cancelled by now.
    const statuses = { open: known.state === 'open' ? ['open'] : ['open', 'cancelled'], cancelled: ['cancelled'] };
    const allowed = before === 'open' || before === 'cancelled' ? statuses[before] : ['open', 'cancelled'];
    return same && order.creationDate === known.shown && allowed.includes(order.status);
  }

  async #get(client: Client, known: Known): Promise<string> {
    const before = known.state;
    const answer = await client.send('GET', `/api/v1/orders/${known.uid}`);
    if (answer === 'broken') return 'broken';
    const fine =
      answer.status === 404
        ? before === 'placing'
        : answer.status === 200 && this.#isRight(answer.body as Order, before);
    this.#expect(fine, 'get', answer);
    return 'get';
  }

  async #getMany(client: Client): Promise<string> {
    const requested = new Map<string, Known['state']>();
    for (let i = 0; i < 20; i++) {
      const known = this.#pick();
      if (known !== undefined) requested.set(known.uid, known.state);
    }
    const answer = await client.send('POST', '/api/v1/orders/by_uids', [...requested.keys()]);
    if (answer === 'broken') return 'broken';
    const results = answer.status === 200 ? (answer.body as { order?: Order }[]) : [];
    const found = new Set(results.map(({ order }) => order?.uid));
    const missing = [...requested].some(([uid, state]) => state !== 'placing' && !found.has(uid as Order['uid']));
    const right = results.every(
      ({ order }) => order !== undefined && this.#isRight(order, requested.get(order.uid) ?? 'placing'),
    );
    this.#expect(answer.status === 200 && !missing && right && found.size === results.length, 'by_uids', answer);
    return 'by_uids';
  }

  async #list(client: Client, { owner }: Known): Promise<string> {
    const before = new Map((this.#byOwner.get(owner) ?? []).map(({ uid, state }) => [uid, state]));
    const answer = await client.send('GET', `/api/v1/account/${owner}/orders?limit=${LISTED}`);
    if (answer === 'broken') return 'broken';
    const orders = answer.status === 200 ? (answer.body as Order[]) : [];
    const right = orders.every(
      (order) => order.owner === owner && this.#isRight(order, before.get(order.uid) ?? 'placing'),
    );
    const sorted = orders.every((order, i) => i === 0 || (orders[i - 1]?.creationDate ?? '') >= order.creationDate);
    const listed = new Set<string>(orders.map(({ uid }) => uid));
    const acknowledged = [...before].filter(([, state]) => state !== 'placing');
    const whole = orders.length === LISTED || acknowledged.every(([uid]) => listed.has(uid));
    this.#expect(answer.status === 200 && right && sorted && whole && listed.size === orders.length, 'list', answer);
    return 'list';
  }

  async #cancel(client: Client, known: Known): Promise<string> {
    if (known.state !== 'open') return this.#get(client, known);
    known.state = 'cancelling';
    const signed = await signCancellation(this.#wallet(known.signer), { orderUids: [known.uid] });
    const answer = await client.send('DELETE', '/api/v1/orders', { orderUids: [known.uid], ...signed });
    if (answer === 'broken') return 'broken';
    this.#expect(answer.status === 200, 'cancel', answer);
    known.state = 'cancelled';
    return 'cancel';
  }

  #wallet(signer: number): LocalAccount {
    return privateKeyToAccount(bytesToHex(hashText(`intentbook bench owner ${signer}`)));
  }

  /** Selects a stored order. */
  async #again(client: Client, known: Known): Promise<string> {
    if (known.state === 'placing') return this.#get(client, known);
    const answer = await client.send('POST', '/api/v1/orders', known.signed.order);
    if (answer === 'broken') return 'broken';
    const { errorType } = answer.body as { errorType?: string };
    this.#expect(answer.status === 400 && errorType === 'DuplicatedOrder', 'again', answer);
    return 'again';
  }

  async #unknown(client: Client): Promise<string> {
    const uid = `0x${hashText(`${this.#random()}`).toString('hex')}${'00'.repeat(24)}`;
    const answer = await client.send('GET', `/api/v1/orders/${uid}`);
    if (answer !== 'broken') this.#expect(answer.status === 404, 'unknown', answer);
    return answer === 'broken' ? answer : 'unknown';
  }

  async #garbage(client: Client): Promise<string> {
    const bodies = ['{', '[]', '{"sellToken":1}', 'null', '"'];
    const body = bodies[Math.floor(this.#random() * bodies.length)];
    const answer = await client.send('POST', '/api/v1/orders', body);
    if (answer !== 'broken') this.#expect(answer.status === 400 || answer.status === 422, 'garbage', answer);
    return answer === 'broken' ? answer : 'garbage';
  }

  /** Reads every acknowledged order. */
  async readAll(client: Client): Promise<void> {
    const acknowledged = this.#all.filter(({ state }) => state !== 'placing');
    for (let i = 0; i < acknowledged.length; i += 128) {
      const some = acknowledged.slice(i, i + 128);
      const answer = await client.send(
        'POST',
        '/api/v1/orders/by_uids',
        some.map(({ uid }) => uid),
      );
      const results = answer !== 'broken' && answer.status === 200 ? (answer.body as { order?: Order }[]) : [];
      const right = results.filter(
        ({ order }) => order !== undefined && this.#isRight(order, this.#byUid.get(order.uid)?.state ?? 'placing'),
      );
      this.#expect(right.length === some.length, 'at the end', answer);
    }
  }
}
