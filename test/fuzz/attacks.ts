import type { Socket } from 'node:net';
import { connect } from 'node:net';

/** Data on a socket: bytes, a pause in milliseconds, or its end, orderly (`end`) or abrupt (`reset`). */
export type Step = string | Uint8Array | number | 'end' | 'reset';

type Random = (below: number) => number;

/** An invalid use of HTTP. */
export interface Attack {
  readonly name: string;
  steps(random: Random): readonly Step[];
  /** Maximum number of responses. */
  readonly answers: number;
}

/** Path of the smuggled requests. A response to it means that smuggling succeeded. */
const HIDDEN = 'GET /smuggled HTTP/1.1\r\nhost: x\r\n\r\n';
const JSON_TYPE = 'content-type: application/json';
const post = (headers: string, body: string, path = '/api/v1/orders/by_uids') =>
  `POST ${path} HTTP/1.1\r\nhost: x\r\n${JSON_TYPE}\r\n${headers}\r\n\r\n${body}`;
const chunked = (body: string) => `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;

const SMUGGLING: readonly string[] = [
  post(`content-length: ${HIDDEN.length}\r\ntransfer-encoding: chunked`, `0\r\n\r\n${HIDDEN}`),
  post('transfer-encoding: chunked\r\ncontent-length: 4', `5c\r\n${HIDDEN}\r\n0\r\n\r\n`),
  post(`content-length: 2\r\ncontent-length: ${HIDDEN.length + 2}`, `[]${HIDDEN}`),
  post(`content-length: 2, ${HIDDEN.length + 2}`, `[]${HIDDEN}`),
  post('transfer-encoding: chunked\r\ntransfer-encoding: identity', `0\r\n\r\n${HIDDEN}`),
  post('transfer-encoding: xchunked', `0\r\n\r\n${HIDDEN}`),
  post('transfer-encoding : chunked', `0\r\n\r\n${HIDDEN}`),
  post('transfer-encoding:\tchunked\r\ncontent-length: 3', `0\r\n\r\n${HIDDEN}`),
  post('transfer-encoding: chunked, identity', `0\r\n\r\n${HIDDEN}`),
  post('x: y\r\n transfer-encoding: chunked', `0\r\n\r\n${HIDDEN}`),
  post('x: y\rtransfer-encoding: chunked\r\ncontent-length: 5', `0\r\n\r\n${HIDDEN}`),
  post('x: y\ntransfer-encoding: chunked\ncontent-length: 5', `0\r\n\r\n${HIDDEN}`),
  post('content-length: +2', `[]${HIDDEN}`),
  post('content-length: 0x2', `[]${HIDDEN}`),
  post('content-length: -1', `[]${HIDDEN}`),
  post(`content-length: ${'9'.repeat(40)}`, `[]${HIDDEN}`),
  post('transfer-encoding: chunked', `2;${'x'.repeat(20_000)}\r\n[]\r\n0\r\n\r\n${HIDDEN}`),
  post('transfer-encoding: chunked', `2\n[]\n0\n\n${HIDDEN}`),
  post('transfer-encoding: chunked', `ffffffffffffffff2\r\n[]\r\n0\r\n\r\n${HIDDEN}`),
  post('transfer-encoding: chunked', `0\r\ntransfer-encoding: chunked\r\n\r\n${HIDDEN.slice(0, -2)}`),
];

const smuggling: readonly Attack[] = SMUGGLING.map((bytes, i) => ({
  name: `smuggling ${i}`,
  // A request behind a correctly delimited body is a second request: two responses, and the second is a 404.
  answers: 2,
  steps: () => [bytes, 'end'],
}));

const garbage = (random: Random, size: number) => Uint8Array.from({ length: size }, () => random(256));

const others: readonly Attack[] = [
  { name: 'noise', answers: 1, steps: (random) => [garbage(random, 1 + random(3000)), 'end'] },
  {
    name: 'truncated request',
    answers: 1,
    steps(random) {
      const whole = post('content-length: 2', '[]');
      const cut = random(whole.length);
      return [whole.slice(0, cut), random(5), random(2) === 0 ? 'reset' : 'end'];
    },
  },
  {
    name: 'one byte at a time',
    answers: 1,
    steps: () => [
      ...[...'GET /api/v1/version HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n'].flatMap((letter) => [letter, 1]),
    ],
  },
  {
    name: 'pipelined',
    answers: 200,
    steps: (random) => ['GET /api/v1/version HTTP/1.1\r\nhost: x\r\n\r\n'.repeat(1 + random(199)), random(4), 'end'],
  },
  {
    name: 'pipelined, then aborted',
    answers: 50,
    steps: (random) => [`${post('content-length: 2', '[]')}`.repeat(50), random(10), 'reset'],
  },
  { name: 'body shorter than declared', answers: 1, steps: () => [post('content-length: 500', '[]'), 5, 'end'] },
  { name: 'body longer than declared', answers: 2, steps: () => [post('content-length: 2', '[]garbage'), 'end'] },
  { name: 'large declared body', answers: 1, steps: () => [post('content-length: 99999999999', '['), 5, 'end'] },
  {
    name: 'large chunked body',
    answers: 1,
    steps: () => [
      post('transfer-encoding: chunked', ''),
      ...Array<string>(24).fill(`10000\r\n${'['.repeat(65_536)}\r\n`),
      'reset',
    ],
  },
  {
    name: 'deep nesting',
    answers: 1,
    steps: () => [post('transfer-encoding: chunked', chunked('['.repeat(60_000))), 'end'],
  },
  {
    name: 'many headers',
    answers: 1,
    steps: (random) => [`GET / HTTP/1.1\r\nhost: x\r\n${'a: b\r\n'.repeat(random(5000))}\r\n`, 'end'],
  },
  {
    name: 'long header',
    answers: 1,
    steps: (random) => [`GET / HTTP/1.1\r\nhost: x\r\nx: ${'y'.repeat(random(40_000))}\r\n\r\n`, 'end'],
  },
  {
    name: 'long target',
    answers: 1,
    steps: (random) => [`GET /${'%41/'.repeat(random(9000))} HTTP/1.1\r\nhost: x\r\n\r\n`, 'end'],
  },
  {
    name: 'odd targets',
    answers: 1,
    steps(random) {
      const targets = [
        '*',
        '//',
        '/..',
        '/%',
        '/%00',
        '/%ff',
        'http://',
        'http://h:x/',
        '/?%',
        '/api/v1/orders?limit=%',
        '?',
        '\u00e9',
        '/#',
      ];
      const methods = ['GET', 'POST', 'PUT', 'DELETE', 'HEAD', 'OPTIONS', 'CONNECT', 'TRACE', 'PATCH', 'BREW', 'PRI'];
      const version = ['1.1', '1.0', '2.0', '0.9', '9.9'][random(5)];
      const host = ['host: x', 'host: x\r\nhost: y', 'host: \u0000', 'host:', ''][random(5)];
      const [method, target] = [methods[random(methods.length)], targets[random(targets.length)]];
      return [`${method} ${target} HTTP/${version}\r\n${host}\r\nconnection: close\r\n\r\n`, 'end'];
    },
  },
  {
    name: 'odd headers',
    answers: 1,
    steps(random) {
      const headers = [
        'expect: 100-continue',
        'expect: miracles',
        'connection: upgrade\r\nupgrade: websocket',
        'content-encoding: gzip',
        'if-none-match: "',
        'last-event-id: 9e9',
        'x-forwarded-for: \u0000',
        'authorization: Bearer',
        'accept-encoding: *;q=nan',
        'transfer-encoding: gzip, chunked',
        'te: trailers',
        'trailer: x',
        'upgrade: h2c\r\nhttp2-settings: x',
        '__proto__: x',
      ];
      const some = Array.from({ length: 1 + random(4) }, () => headers[random(headers.length)]);
      return [post(`${some.join('\r\n')}\r\ncontent-length: 2\r\nconnection: close`, '[]'), 2, 'end'];
    },
  },
  {
    name: 'invalid UTF-8',
    answers: 1,
    steps: (random) => [post('content-length: 40\r\nconnection: close', ''), garbage(random, 40), 'end'],
  },
  {
    name: 'stream, then aborted',
    answers: 1,
    steps: (random) => ['GET /api/v1/orders/stream HTTP/1.1\r\nhost: x\r\n\r\n', random(20), 'reset'],
  },
  {
    name: 'many streams on one connection',
    answers: 1,
    steps: () => ['GET /api/v1/orders/stream HTTP/1.1\r\nhost: x\r\n\r\n'.repeat(20), 5, 'reset'],
  },
  {
    name: 'random changes',
    answers: 3,
    steps(random) {
      const bytes = Buffer.from(SMUGGLING[random(SMUGGLING.length)] ?? '', 'latin1');
      for (let times = 1 + random(6); times > 0; times--) bytes[random(bytes.length)] = random(256);
      const cut = random(bytes.length);
      return [bytes.subarray(0, cut), random(3), bytes.subarray(cut), 'end'];
    },
  },
];

export const ATTACKS: readonly Attack[] = [...smuggling, ...others];

/** Milliseconds after which the client hangs up. Longer waits are covered by the timeouts of the server. */
const TIMEOUT = 400;

/** Performs an attack. @returns the received bytes. */
export function carryOut(port: number, steps: readonly Step[]): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    let received = '';
    const timer = setTimeout(() => socket.destroy(), TIMEOUT);
    socket.setEncoding('latin1').on('data', (text: string) => {
      received += text;
    });
    socket.on('error', () => {}); // a closed connection is the expected result
    socket.on('close', () => {
      clearTimeout(timer);
      resolve(received);
    });
    socket.on('connect', () => void play(socket, steps));
  });
}

async function play(socket: Socket, steps: readonly Step[]): Promise<void> {
  for (const step of steps) {
    if (socket.destroyed) return;
    if (step === 'reset') socket.resetAndDestroy();
    else if (step === 'end') socket.end();
    else if (typeof step === 'number') await new Promise((resolve) => setTimeout(resolve, step));
    else socket.write(typeof step === 'string' ? Buffer.from(step, 'latin1') : step);
  }
}

/** Returns the error in the received bytes, if any. */
export function complaintOf({ answers }: Attack, received: string): string | undefined {
  const statuses = [...received.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status]) => Number(status));
  if (statuses.some((status) => status >= 500)) return `answered ${statuses.join()}`;
  const final = statuses.filter((status) => status >= 200);
  return final.length > answers ? `answered ${final.length} times: ${final.join()}` : undefined;
}
