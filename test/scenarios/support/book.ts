import assert from 'node:assert/strict';
import type { OpenApiDocument } from 'intentbook/openapi';
import type { Hex, LocalAccount } from 'viem';
import { createResponseCheck } from '../../integration/http/described.ts';
import type { OrderChoice } from '../../support/orders.ts';
import { signCancellation, signOrder } from '../../support/orders.ts';
import { checkResponse } from '../../support/production-schemas.ts';

/** A response of the server. */
export interface Reply {
  readonly status: number;
  /** Parsed JSON, or text if the response is no JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: scenarios assert the shape of each response
  readonly body: any;
  readonly headers: Headers;
}

/** An order as the server renders it. */
export interface WireOrder {
  readonly uid: Hex;
  readonly owner: Hex;
  readonly status: string;
  readonly sellToken: Hex;
  readonly buyToken: Hex;
  readonly receiver: Hex | null;
  readonly sellAmount: string;
  readonly buyAmount: string;
  readonly validTo: number;
  readonly appData: Hex;
  readonly kind: 'sell' | 'buy';
  readonly partiallyFillable: boolean;
  readonly sellTokenBalance: string;
  readonly buyTokenBalance: string;
  readonly signingScheme: 'eip712' | 'ethsign' | 'eip1271' | 'presign';
  readonly signature: Hex;
  readonly executedSellAmount: string;
  readonly executedBuyAmount: string;
  readonly interactions: { readonly pre: readonly WireCall[]; readonly post: readonly WireCall[] };
}

interface WireCall {
  readonly target: Hex;
  readonly value: string;
  readonly callData: Hex;
}

export const OPERATOR_TOKEN = 'scenarios-operator-token';

/** Time until a state must have been reached. Only a defect takes that long. */
const TIMEOUT = 60_000;

/** The HTTP interface of a server. */
export class Book {
  readonly url: string;
  #check: ReturnType<typeof createResponseCheck> | undefined;

  constructor(url: string) {
    this.url = url;
  }

  async #describe(): Promise<ReturnType<typeof createResponseCheck>> {
    const response = await fetch(`${this.url}/openapi.json`);
    return createResponseCheck((await response.json()) as OpenApiDocument);
  }

  /**
   * Sends a request. Responses must be as the server describes them. Those of routes of production must have the types
   * of production.
   */
  async send(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Reply> {
    const init: RequestInit = { method, headers };
    if (body !== undefined) {
      init.body = typeof body === 'string' ? body : JSON.stringify(body);
      init.headers = { 'content-type': 'application/json', ...headers };
    }
    const response = await fetch(`${this.url}${path}`, init);
    const text = await response.text();
    let parsed: unknown = text;
    if (response.headers.get('content-type')?.includes('json') && text !== '') parsed = JSON.parse(text);
    checkResponse(method, path, response.status, parsed);
    this.#check ??= await this.#describe();
    const header = (name: string) => response.headers.get(name) ?? undefined;
    this.#check(method, path.split('?')[0] ?? '', { status: response.status, header, text, json: () => parsed });
    return { status: response.status, body: parsed, headers: response.headers };
  }

  get(path: string): Promise<Reply> {
    return this.send('GET', `/api/v1${path}`);
  }

  post(path: string, body: unknown): Promise<Reply> {
    return this.send('POST', `/api/v1${path}`, body);
  }

  put(path: string, body: unknown): Promise<Reply> {
    return this.send('PUT', `/api/v1${path}`, body);
  }

  /** A request with the token of the operator. */
  operator(method: string, path: string, body?: unknown): Promise<Reply> {
    return this.send(method, `/restricted/api/v1${path}`, body, { authorization: `Bearer ${OPERATOR_TOKEN}` });
  }

  /** Signs and submits an order with a validity of one hour. */
  async submit(signer: LocalAccount, choice: OrderChoice & Record<string, unknown>): Promise<Reply> {
    const { scheme = 'eip712', quoteId, ...order } = choice as OrderChoice & { scheme?: 'ethsign'; quoteId?: number };
    const validTo = Math.floor(Date.now() / 1000) + 3600;
    const signed = await signOrder(signer, { validTo, ...order }, { scheme });
    return this.post('/orders', quoteId === undefined ? signed : { ...signed, quoteId });
  }

  /** Submits an order that must be accepted. */
  async place(signer: LocalAccount, choice: OrderChoice & Record<string, unknown>): Promise<Hex> {
    const { status, body } = await this.submit(signer, choice);
    assert.equal(status, 201, JSON.stringify(body));
    return body;
  }

  /** Submits an order that must be rejected with a status and a code. */
  async rejects(reply: Promise<Reply> | Reply, status: number, code: string): Promise<Reply> {
    const received = await reply;
    assert.deepEqual([received.status, received.body.errorType], [status, code], JSON.stringify(received.body));
    return received;
  }

  async cancel(signer: LocalAccount, ...orderUids: string[]): Promise<Reply> {
    const signed = await signCancellation(signer, { orderUids });
    return this.send('DELETE', '/api/v1/orders', { orderUids, ...signed });
  }

  async order(uid: string): Promise<WireOrder> {
    const { status, body } = await this.get(`/orders/${uid}`);
    assert.equal(status, 200, JSON.stringify(body));
    return body;
  }

  /** Requests a path until a condition is true. */
  // biome-ignore lint/suspicious/noExplicitAny: scenarios assert the shape of each response
  async until(path: string, condition: (body: any, reply: Reply) => boolean): Promise<any> {
    const end = Date.now() + TIMEOUT;
    for (;;) {
      const reply = await this.get(path);
      if (condition(reply.body, reply)) return reply.body;
      if (Date.now() > end)
        assert.fail(`${path}: the condition is not reached: ${JSON.stringify(reply.body).slice(0, 800)}`);
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
  }

  untilStatus(uid: string, status: string): Promise<WireOrder> {
    return this.until(`/orders/${uid}`, (order) => order.status === status);
  }

  /** The order in the current auction, or `undefined`. */
  async listed(uid: string): Promise<Record<string, unknown> | undefined> {
    const { body } = await this.get('/auction');
    return body.orders.find((order: { uid: string }) => order.uid === uid);
  }

  /** Waits until an order is listed in the auction, or is not. */
  async untilListed(uid: string, isListed = true): Promise<void> {
    const has = ({ orders }: { orders?: readonly { uid: string }[] }) =>
      orders?.some((each) => each.uid === uid) ?? false;
    await this.until('/auction', (auction) => has(auction) === isListed);
  }
}
