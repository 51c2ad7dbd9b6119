import assert from 'node:assert/strict';
import type { Api, ApiResponse } from 'intentbook';
import { createApi, createOrderBook } from 'intentbook';
import { composeApis, createAccountApi, createAccounts } from 'intentbook/accounts';
import { webhookChannel } from 'intentbook/channels';
import { memoryAccountStore, memoryStore } from 'intentbook/memory';
import { manualClock } from '../../support/clock.ts';
import { account, SEPOLIA, signOrder } from '../../support/orders.ts';
import type { Target } from '../target.ts';
import { JSON_MARKS, textOf } from '../target.ts';

const clock = manualClock();
const failures: unknown[] = [];
const book = createOrderBook({ chainId: SEPOLIA, clock, store: memoryStore() });
book.on('failure', (failure) => failures.push(failure));
const accounts = createAccounts({
  books: [book],
  store: memoryAccountStore(),
  clock,
  channels: [webhookChannel()],
  onFailure: (failure) => void failures.push(failure),
});
await book.start();
await accounts.start();
const api = composeApis(
  createAccountApi(accounts),
  createApi(book, { operatorToken: 'operator operator'.replace(' ', '-') }),
);

const owner = account(1);
const validTo = Math.floor(clock.now() / 1000) + 600;
const uids: string[] = [];
for (let n = 0; n < 3; n++) {
  const submitted = await book.orders.submit(await signOrder(owner, { validTo, sellAmount: String(1000 + n) }));
  assert(submitted.status === 'accepted');
  uids.push(submitted.uid);
}
const fresh = await signOrder(owner, { validTo, sellAmount: '999' });
const OWNER = owner.address;
const [UID = ''] = uids;
const HASH = `0x${'ab'.repeat(32)}`;

const PATHS = [
  '/api/v1/orders',
  '/api/v1/orders/by_uids',
  '/api/v1/orders/stream',
  `/api/v1/orders/${UID}`,
  `/api/v1/orders/${UID}/status`,
  `/api/v1/account/${OWNER}/orders`,
  `/api/v1/transactions/${HASH}/orders`,
  '/api/v1/trades',
  '/api/v2/trades',
  '/api/v1/auction',
  '/api/v1/quote',
  '/api/v1/quote/stream',
  `/api/v1/token/${OWNER}/native_price`,
  '/api/v1/app_data',
  `/api/v1/app_data/${HASH}`,
  '/api/v1/version',
  '/api/v2/solver_competition/latest',
  '/api/v2/solver_competition/1',
  '/restricted/api/v1/competition',
  `/accounts/${OWNER}/notifications`,
  `/accounts/${OWNER}/subscriptions`,
  `/accounts/${OWNER}/subscriptions/confirm`,
  `/affiliate/${OWNER}`,
  '/ref-codes/CODE1',
  `/api/v1/users/${OWNER}/total_surplus`,
  `/11155111/tokens/${OWNER}/usdPrice`,
];
const WORDS = [
  ...PATHS,
  'GET',
  'POST',
  'PUT',
  'DELETE',
  'HEAD',
  'OPTIONS',
  'PATCH',
  '?',
  '&',
  '=',
  '/',
  '//',
  '%',
  '%2f',
  '%00',
  '..',
  '\n',
  '\n\n',
  'content-type: application/json',
  'content-encoding: gzip',
  'if-none-match: *',
  'if-none-match: "1-open"',
  'last-event-id: ',
  'authorization: Bearer operator-operator',
  'authorization: Subscription nonce=1, deadline=2, signature=0x',
  'content-length: 9',
  'owner=',
  'orderUid=',
  'limit=',
  'offset=',
  'cursor=',
  'status=',
  'token=',
  UID,
  OWNER,
  ...JSON_MARKS,
  '"__proto__"',
  '"orderUids"',
  '"signature"',
  '"signingScheme"',
  '"fullAppData"',
  '"channel"',
  '"webhook"',
  '"target"',
  '"nonce"',
];
const JSON_TYPE = 'content-type: application/json';

/** A method and a target, header lines, an empty line, and the body. */
const request: Target = {
  name: 'http-request',
  words: WORDS,
  seeds: [
    ...PATHS.map((path) => `GET ${path}`),
    `GET /api/v1/account/${OWNER}/orders?offset=1&limit=2`,
    `GET /api/v1/orders?status=open&cursor=1700000000000-${UID}`,
    `GET /api/v1/orders/${UID}\nif-none-match: "1-open"`,
    `POST /api/v1/orders\n${JSON_TYPE}\n\n${JSON.stringify(fresh)}`,
    `DELETE /api/v1/orders\n${JSON_TYPE}\n\n${JSON.stringify({ orderUids: [UID], signature: fresh.signature, signingScheme: 'eip712' })}`,
    `PUT /api/v1/app_data\n${JSON_TYPE}\n\n${JSON.stringify({ fullAppData: '{"a":1}' })}`,
    `POST /api/v1/quote\n${JSON_TYPE}\n\n${JSON.stringify({ ...fresh, sellAmountBeforeFee: '1' })}`,
    `POST /affiliate/${OWNER}\n${JSON_TYPE}\n\n${JSON.stringify({ walletAddress: OWNER, code: 'CODE1', signedMessage: '0x00' })}`,
    `POST /accounts/${OWNER}/subscriptions\n${JSON_TYPE}\n\n${JSON.stringify({ channel: 'webhook', target: 'http://127.0.0.1/', types: ['traded'], nonce: '1', deadline: validTo, signature: fresh.signature })}`,
    `POST /restricted/api/v1/competition\n${JSON_TYPE}\nauthorization: Bearer operator-operator\n\n{}`,
  ],
  async run(bytes) {
    const { status, text } = await answer(api, bytes);
    assert.notEqual(status, 500, `a failure: ${String(failures.at(-1))}`);
    assert.equal(failures.length, 0);
    // A write changes the next response.
    return bytes[0] === 'G'.charCodeAt(0) ? [status, text] : undefined;
  },
};

async function answer(to: Api, bytes: Uint8Array): Promise<{ status: number; text: string }> {
  const split = indexOfEmptyLine(bytes);
  const [line = '', ...lines] = textOf(bytes.subarray(0, split)).split('\n');
  const [word = '', target = ''] = line.split(/ (.*)/s);
  const method = word.toUpperCase();
  const [path = '', query = ''] = target.split(/\?(.*)/s);
  const headers = new Map(lines.map((each) => each.split(/: ?(.*)/s, 2) as [string, string])); // one or two
  const body = bytes.subarray(split + 2);
  const response = await to.handle({
    method,
    path,
    query,
    header: (name) => headers.get(name),
    body: body.length === 0 ? { type: 'none' } : { type: 'bytes', bytes: body },
  });
  assert(Number.isInteger(response.status) && response.status >= 200 && response.status < 600);
  for (const [name, value] of Object.entries(response.headers)) {
    assert.match(name, /^[a-z0-9-]+$/);
    assert.match(value, /^[\t\x20-\x7e]*$/, `${name} would split the answer`);
  }
  const text = await textOfBody(response);
  if (response.status >= 400 && method !== 'HEAD') {
    const { errorType, description, message } = JSON.parse(text);
    assert(typeof message === 'string' || (typeof errorType === 'string' && typeof description === 'string'));
    assert.equal(response.headers['cache-control'], 'no-store', 'a rejection may be kept');
  }
  return { status: response.status, text };
}

function indexOfEmptyLine(bytes: Uint8Array): number {
  const at = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).indexOf('\n\n');
  return at < 0 ? bytes.length : at;
}

async function textOfBody({ body = '' }: ApiResponse): Promise<string> {
  if (typeof body === 'string') return body;
  if (!(Symbol.asyncIterator in body)) return textOf(Buffer.concat([body].flat()));
  // The target does not wait for a stream, which would not end.
  await body[Symbol.asyncIterator]().return?.();
  return '';
}

/** A list of UIDs. */
const byUids: Target = {
  name: 'by-uids',
  words: [
    ']',
    ',',
    '"',
    'null',
    '1',
    '{}',
    '0x',
    ...uids.map((uid) => `"${uid}"`),
    `"0x${'00'.repeat(56)}"`,
    '\\u0030',
  ],
  seeds: [
    JSON.stringify(uids),
    '[]',
    JSON.stringify(new Array(128).fill(UID)),
    JSON.stringify([UID.toUpperCase().replace('X', 'x')]),
  ],
  async run(bytes) {
    const head = new TextEncoder().encode(`POST /api/v1/orders/by_uids\n${JSON_TYPE}\n\n`);
    const whole = new Uint8Array(head.length + bytes.length);
    whole.set(head);
    whole.set(bytes, head.length);
    const { status, text } = await answer(api, whole);
    assert([200, 400, 413, 422].includes(status), `${status} ${text}`);
    if (status !== 200) return text;
    const requested = (JSON.parse(textOf(bytes)) as string[]).map((uid) => uid.toLowerCase());
    const found = (JSON.parse(text) as { order: { uid: string } }[]).map(({ order }) => order.uid);
    for (const uid of found) assert(requested.includes(uid) && uids.includes(uid));
    assert.equal(new Set(found).size, new Set(requested.filter((uid) => uids.includes(uid))).size);
    return text;
  },
};

export const HTTP_TARGETS: readonly Target[] = [request, byUids];
