import assert from 'node:assert/strict';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Channel, NotificationType } from 'intentbook';
import type { Accounts, Notification } from 'intentbook/accounts';
import { createAccountApi, createAccounts } from 'intentbook/accounts';
import { memoryAccountStore } from 'intentbook/memory';
import { ALICE, ALICES } from '../../unit/accounts/accounts-fixture.ts';
import type { HttpFixture } from '../http/http-fixture.ts';
import { directFixture } from '../http/http-fixture.ts';

export const TYPES = {
  Subscription: [
    { name: 'account', type: 'address' },
    { name: 'channel', type: 'string' },
    { name: 'target', type: 'string' },
    { name: 'types', type: 'string[]' },
    { name: 'nonce', type: 'uint256' },
    { name: 'deadline', type: 'uint256' },
  ],
} as const;

let nonces = 0;

/** Signature of Alice, made with viem, which is independent of this package. */
export async function proof(channel = '', target = '', types: readonly NotificationType[] = [], changes: object = {}) {
  const nonce = String(++nonces);
  const deadline = Math.floor(Date.now() / 1000) + 240;
  const signed = { nonce, deadline, ...changes };
  const message = {
    account: ALICES,
    channel,
    target,
    types,
    nonce: BigInt(signed.nonce),
    deadline: BigInt(signed.deadline),
  };
  const domain = { name: 'Service Affiliate', version: '1' };
  const signature = await ALICE.signTypedData({ domain, types: TYPES, primaryType: 'Subscription', message });
  return { channel, target, types, ...signed, signature };
}

/** Returns the header that carries a signed request. Default: that of a list, which names the default audience. */
export async function authorization(target = 'Service Affiliate'): Promise<{ authorization: string }> {
  const { nonce, deadline, signature } = await proof('', target);
  return { authorization: `Subscription nonce=${nonce}, deadline=${deadline}, signature=${signature}` };
}

/** An account interface without books, on the system clock. Tests write its notifications. */
export interface ChannelFixture extends AsyncDisposable {
  readonly accounts: Accounts;
  readonly http: HttpFixture;
  readonly failures: unknown[];
  subscribe(channel: string, target: string, types?: readonly NotificationType[]): Promise<Record<string, string>>;
  /** Creates a notification for Alice. */
  notify(...ids: string[]): Promise<void>;
  /** Creates notifications with these bodies. */
  publish(bodies: readonly Notification[]): Promise<void>;
}

export function channelFixture(...channels: Channel[]): Promise<ChannelFixture> {
  return createFixture({ attempts: 8, deadline: 200 }, channels);
}

/** Creates a notification and retries on failure. */
export function retryingFixture(...channels: Channel[]): Promise<ChannelFixture> {
  return createFixture({ attempts: 10_000, deadline: 5_000 }, channels);
}

async function createFixture(
  { attempts, deadline }: { attempts: number; deadline: number },
  channels: readonly Channel[],
): Promise<ChannelFixture> {
  const store = memoryAccountStore();
  const failures: unknown[] = [];
  const accounts = createAccounts({
    books: [],
    store,
    channels,
    onFailure: (failure) => void failures.push(failure),
    timeout: deadline,
    deliveries: { attempts, timeout: 600, retryDelay: 5, maxRetryDelay: 40 },
  });
  await accounts.start();
  const http = directFixture(createAccountApi(accounts), () => Math.floor(Date.now() / 1000));
  let through = 0;

  async function publish(bodies: readonly Notification[]): Promise<void> {
    const changes = bodies.map((body) => {
      const { id, account, type } = body;
      // Within the window of deliveries before the creation of a subscription.
      const notification = { id, account, type: type as NotificationType, at: Date.now(), body: JSON.stringify(body) };
      return { type: 'notify' as const, notification };
    });
    await store.notifications.append({ feed: 'hand', after: through || null, through: ++through, changes });
    await accounts.deliveries.replay([]);
  }

  return {
    accounts,
    http,
    failures,
    async subscribe(channel, target, types = ['order_filled']) {
      const answer = await http.send('POST', `/accounts/${ALICES}/subscriptions`, {
        body: await proof(channel, target, types),
      });
      assert.equal(answer.status, 201, answer.text);
      return answer.json() as Record<string, string>;
    },
    notify: async (...ids) => publish(ids.map(notificationOf)),
    publish,
    async [Symbol.asyncDispose]() {
      await accounts.close();
    },
  };
}

function notificationOf(id: string): Notification {
  const timestamp = '2023-11-14T22:13:20.000Z';
  const message = `filled: ${id}`;
  return { id, account: ALICES, type: 'order_filled', message, timestamp, metadata: { orderUid: '0x' } };
}

/** A server on loopback with a scripted response. */
export interface Receiver extends AsyncDisposable {
  readonly url: string;
  readonly received: { readonly path: string; readonly headers: IncomingMessage['headers']; readonly body: string }[];
  /** Behaviour of the receiver: `echo` by default, a status, or no response. */
  behave(behaviour: Behaviour): void;
}

export type Behaviour = 'echo' | 'hang' | ((body: string, response: ServerResponse) => void) | number;

export async function receiver(): Promise<Receiver> {
  const received: Receiver['received'] = [];
  let behaviour: Behaviour = 'echo';
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    if (behaviour === 'hang') return;
    if (typeof behaviour === 'number') return void response.writeHead(behaviour).end();
    received.push({ path: request.url ?? '', headers: request.headers, body });
    if (typeof behaviour === 'function') behaviour(body, response);
    else response.end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, // a listening server has an address
    received,
    behave(next) {
      behaviour = next;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Waits for a condition. */
export async function until(done: () => boolean | Promise<boolean>): Promise<void> {
  for (let i = 0; i < 2000; i++) {
    if (await done()) return;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  throw new Error('it does not come');
}
