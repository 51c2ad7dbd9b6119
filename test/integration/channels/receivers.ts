import assert from 'node:assert/strict';
import { createECDH, createPublicKey, randomBytes, verify } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo, Server as NetServer } from 'node:net';
import type { Channel } from 'intentbook';
import { emailChannel, telegramChannel, webhookChannel, webPushChannel } from 'intentbook/channels';
import 'nodemailer';
import { SMTPServer } from 'smtp-server';
import { Webhook } from 'standardwebhooks';
import webPush from 'web-push';
import { ALICES } from '../../unit/accounts/accounts-fixture.ts';
import type { ChannelFixture } from './channel-fixture.ts';
import { until } from './channel-fixture.ts';

/** Behaviour for an incoming message: accept, reject for now, or never respond. */
export type Behaviour = 'takes' | 'rejects' | 'hangs';

/** An accepted message. */
export interface Taken {
  /** Id of the notification. */
  readonly name: string;
  /** Id of the delivery, if the channel has one. */
  readonly id: string | undefined;
  /** The notification as data, or the text of the message. */
  readonly content: object | string;
}

/** A receiver of a channel that uses the channel's protocol in an independent implementation. */
export interface Recipient extends AsyncDisposable {
  readonly channel: Channel;
  /** Target of the subscription in a fixture with the channel. */
  subscribe(fixture: Pick<ChannelFixture, 'subscribe' | 'http'>): Promise<void>;
  readonly taken: Taken[];
  behaviour: Behaviour;
  /** Closes the port and all connections. */
  down(): Promise<void>;
  /** Opens the same port again. */
  up(): Promise<void>;
}

const LOOPBACK = { allow: ['127.0.0.1/32'] };

/** A server that can close and reopen its port. */
async function doors(make: () => { readonly server: NetServer; close(): Promise<void> }) {
  let server = make();
  let port = 0;
  const up = async () => {
    await new Promise<void>((resolve) => void server.server.listen(port, '127.0.0.1', resolve));
    port = (server.server.address() as AddressInfo).port; // a listening server has an address
  };
  await up();
  return {
    get port() {
      return port;
    },
    async up() {
      server = make();
      await up();
    },
    down: () => server.close(),
    [Symbol.asyncDispose]: () => server.close(),
  };
}

function httpDoors(answer: (request: IncomingMessage, body: Buffer, response: ServerResponse) => void) {
  return doors(() => {
    const server = createServer(async (request, response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer); // chunks of a byte stream
      answer(request, Buffer.concat(chunks), response);
    });
    return {
      server,
      close: () => new Promise((resolve) => void server.close(() => resolve()).closeAllConnections()),
    };
  });
}

/** Responds by the current behaviour. @returns whether the message is accepted. */
function takes({ behaviour }: { readonly behaviour: Behaviour }, response: ServerResponse, rejection = 503): boolean {
  if (behaviour === 'rejects') response.writeHead(rejection).end();
  return behaviour === 'takes';
}

/** A web server that verifies signatures with the reference library of Standard Webhooks. */
export async function webhookRecipient(): Promise<Recipient> {
  const taken: Taken[] = [];
  let webhook: Webhook | undefined;
  const state = { behaviour: 'takes' as Behaviour };
  const door = await httpDoors((request, body, response) => {
    if (webhook === undefined) return void response.end(body);
    if (!takes(state, response)) return;
    const { data } = webhook.verify(body, request.headers as Record<string, string>) as { data: { id: string } };
    taken.push({ name: data.id, id: String(request.headers['webhook-id']), content: data });
    response.end();
  });
  return Object.assign(state, door, {
    channel: webhookChannel(LOOPBACK),
    taken,
    async subscribe(fixture: Pick<ChannelFixture, 'subscribe' | 'http'>) {
      const { secret } = await fixture.subscribe('webhook', `http://127.0.0.1:${door.port}/hook`);
      webhook = new Webhook(secret ?? '');
    },
  });
}

/** A push service with one browser, which decrypts its messages. */
export async function pushRecipient(): Promise<Recipient> {
  const { decrypt } = await import('http_ece');
  const taken: Taken[] = [];
  const state = { behaviour: 'takes' as Behaviour };
  const keys = webPush.generateVAPIDKeys();
  const browser = createECDH('prime256v1');
  browser.generateKeys();
  const auth = randomBytes(16).toString('base64url');
  const door = await httpDoors((request, body, response) => {
    if (!takes(state, response)) return;
    assertVapid(String(request.headers.authorization), keys.publicKey, `http://${request.headers.host}`);
    const text = decrypt(body, { version: 'aes128gcm', privateKey: browser, authSecret: auth });
    const { id, data } = JSON.parse(text.toString()) as { id: string; data: { id: string } };
    assert.equal(request.headers['topic'], id.replace('msg_', ''));
    taken.push({ name: data.id, id, content: data });
    response.writeHead(201).end();
  });
  return Object.assign(state, door, {
    channel: webPushChannel({ subject: 'mailto:us@example.org', ...keys, ...LOOPBACK }),
    taken,
    async subscribe(fixture: Pick<ChannelFixture, 'subscribe' | 'http'>) {
      const endpoint = `http://127.0.0.1:${door.port}/push/1`;
      const subscription = {
        endpoint,
        expirationTime: null,
        keys: { p256dh: browser.getPublicKey('base64url'), auth },
      };
      const { state: shown } = await fixture.subscribe('webpush', JSON.stringify(subscription));
      assert.equal(shown, 'active');
    },
  });
}

/** RFC 8292: an ES256 token with sender, audience and expiry. */
function assertVapid(authorization: string, publicKey: string, audience: string): void {
  const [, header = '', claims = '', signature = '', key] =
    /^vapid t=([\w-]+)\.([\w-]+)\.([\w-]+), ?k=([\w-]+)$/.exec(authorization) ?? [];
  assert.equal(key, publicKey);
  const point = Buffer.from(publicKey, 'base64url');
  const [x, y] = [point.subarray(1, 33), point.subarray(33)].map((half) => half.toString('base64url'));
  const verifier = createPublicKey({ key: { kty: 'EC', crv: 'P-256', x: x ?? '', y: y ?? '' }, format: 'jwk' });
  const signed = Buffer.from(`${header}.${claims}`);
  const options = { key: verifier, dsaEncoding: 'ieee-p1363' } as const;
  assert.ok(verify('sha256', signed, options, Buffer.from(signature, 'base64url')), 'the token is signed by the key');
  const { aud, exp, sub } = JSON.parse(Buffer.from(claims, 'base64url').toString()) as Record<string, unknown>;
  assert.deepEqual([aud, sub], [audience, 'mailto:us@example.org']);
  assert.ok(Number(exp) > Date.now() / 1000 && Number(exp) <= Date.now() / 1000 + 86_400);
}

/** A mail server with one mailbox. */
export interface MailRecipient extends Recipient {
  /** Accepted mails in raw form. */
  readonly mails: string[];
  /** Response of the server to a recipient instead of acceptance. */
  rejection: { readonly code: number; readonly text: string } | undefined;
}

export async function mailRecipient({ user, pass }: { user?: string; pass?: string } = {}): Promise<MailRecipient> {
  const [taken, mails]: [Taken[], string[]] = [[], []];
  const state = { behaviour: 'takes' as Behaviour, rejection: undefined as MailRecipient['rejection'] };
  const failure = ({ code, text }: { code: number; text: string }) =>
    Object.assign(new Error(text), { responseCode: code });
  const door = await doors(() => {
    const server = new SMTPServer({
      disabledCommands: ['STARTTLS'],
      authOptional: user === undefined,
      allowInsecureAuth: true,
      closeTimeout: 1,
      onAuth({ username, password }, _session, callback) {
        if (username === user && password === pass) callback(null, { user: username });
        else callback(failure({ code: 535, text: `no such user: ${username} ${password}` }));
      },
      onRcptTo(_address, _session, callback) {
        callback(state.rejection === undefined ? null : failure(state.rejection));
      },
      onData(stream, _session, callback) {
        let mail = '';
        stream.on('data', (chunk) => {
          mail += chunk;
        });
        stream.on('end', () => {
          if (state.behaviour === 'rejects') return callback(failure({ code: 451, text: 'come again' }));
          if (state.behaviour === 'hangs') return;
          mails.push(mail);
          const [, name] = /filled: (.*?)\r?\n/.exec(mail) ?? [];
          const [, id] = /^Message-ID: <(msg_[0-9a-f]{32})@example\.org>/im.exec(mail) ?? [];
          if (name !== undefined) taken.push({ name, id, content: mail });
          callback();
        });
      },
    });
    server.on('error', () => {}); // aborted connections
    return {
      server: server.server,
      close: () => new Promise((resolve) => server.close(() => resolve())),
    };
  });
  const login = user === undefined ? '' : `${user}:${pass}@`;
  return Object.assign(state, door, {
    taken,
    mails,
    channel: emailChannel({
      smtp: `smtp://${login}127.0.0.1:${door.port}`,
      from: 'books@example.org',
      publicUrl: 'https://api.example.org/',
    }),
    async subscribe(fixture: Pick<ChannelFixture, 'subscribe' | 'http'>) {
      const { state: shown, confirm } = await fixture.subscribe('email', 'alice@example.net');
      assert.deepEqual([shown, confirm], ['pending', undefined], 'the response does not contain the link');
      await until(() => mails.length === 1);
      const path = confirmationOf(mails[0] ?? '');
      const answer = await fixture.http.send('POST', path);
      assert.equal(answer.status, 200, answer.text);
    },
  });
}

/** Returns the path of the link in a mail, whose lines can be folded (RFC 2045). */
export function confirmationOf(mail: string): string {
  const text = mail.replace(/=\r\n/g, '').replace(/=3D/g, '=');
  const [, path] = /https:\/\/api\.example\.org(\/accounts\/\S+token=[0-9a-f]{64})/.exec(text) ?? [];
  if (!path?.startsWith(`/accounts/${ALICES}/subscriptions/confirm?`)) throw new Error(`no link in ${mail}`);
  return path;
}

/** Decodes a mail whose text is in quoted-printable or plain. @returns its subject and its text. */
export function readMail(mail: string): { subject: string; text: string } {
  const [head = '', ...rest] = mail.split('\r\n\r\n');
  assert.match(head, /^Content-Type: text\/plain; charset=utf-8$/im, 'the only part is text');
  const body = rest.join('\n\n').replace(/=\r\n/g, '');
  const text = body.replace(/=([0-9A-F]{2})/g, (_, code) => String.fromCharCode(Number.parseInt(code, 16)));
  return { subject: /^Subject: (.*)$/m.exec(head)?.[1]?.trim() ?? '', text: text.replaceAll('\r\n', '\n') };
}

/** A test double of the bot API with a user who has started the bot. */
export async function botRecipient(): Promise<Recipient> {
  const taken: Taken[] = [];
  const state = { behaviour: 'takes' as Behaviour };
  const polls: ServerResponse[] = [];
  const updates: object[] = [];
  const door = await httpDoors((request, body, response) => {
    const reply = (result: unknown) => response.end(JSON.stringify({ ok: true, result }));
    if (request.url?.endsWith('/getUpdates')) {
      if (updates.length > 0) reply(updates.splice(0));
      else polls.push(response);
      return;
    }
    if (!takes(state, response)) return;
    const { text } = JSON.parse(body.toString()) as { text: string };
    // A chat message has no field for the notification id.
    taken.push({ name: text.replace('filled: ', ''), id: undefined, content: text });
    reply({});
  });
  return Object.assign(state, door, {
    channel: telegramChannel({ token: '1:x', bot: 'a_bot', api: `http://127.0.0.1:${door.port}` }),
    taken,
    async subscribe(fixture: Pick<ChannelFixture, 'subscribe' | 'http'>) {
      const { confirm = '' } = await fixture.subscribe('telegram', '');
      const text = `/start ${confirm.split('start=')[1]}`;
      updates.push({ update_id: 1, message: { text, chat: { id: 1 } } });
      for (const poll of polls.splice(0)) poll.end(JSON.stringify({ ok: true, result: updates.splice(0) }));
    },
  });
}
