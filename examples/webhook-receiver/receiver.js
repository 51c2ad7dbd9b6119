import { createHmac, timingSafeEqual } from 'node:crypto';
import { realpathSync } from 'node:fs';
import { createServer } from 'node:http';

/** Age of a message above which it is rejected as a replay, in seconds. */
const TOLERANCE = 300;

/** Maximum size of a body, in bytes. */
const MAX_BODY = 256 * 1024;

/** Number of message ids that are remembered. */
const MAX_IDS = 10_000;

/**
 * Verifies a message as Standard Webhooks 1.0 defines it.
 *
 * @param headers - Headers with names in lower case.
 * @param body - The body as it was received, before it is parsed.
 * @param secret - The secret of the subscription: `whsec_…`.
 */
export function verify(headers, body, secret, now = Date.now() / 1000) {
  const { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures = '' } = headers;
  if (secret === '' || !(Math.abs(now - Number(timestamp)) <= TOLERANCE)) return false;
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
  const expected = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest();
  return signatures.split(' ').some((signature) => {
    const [version, value = ''] = signature.split(',');
    const given = Buffer.from(value, 'base64');
    return version === 'v1' && given.length === expected.length && timingSafeEqual(given, expected);
  });
}

/**
 * Creates a server that calls `onNotification` once for each verified message. A message whose call fails is not
 * acknowledged, so that it is delivered again.
 */
export function createReceiver(secret, onNotification) {
  /** The calls by message id: a message may be delivered more than once, also while its call is running. */
  const calls = new Map();

  async function receive(request) {
    const body = await readBody(request);
    if (!verify(request.headers, body, secret)) {
      const { type, challenge } = parseObject(body);
      return type === 'subscription.challenge' ? [200, JSON.stringify({ challenge })] : [401];
    }
    const id = request.headers['webhook-id'];
    const call = calls.get(id) ?? Promise.resolve(JSON.parse(body)).then(onNotification);
    calls.set(id, call);
    const [oldest] = calls.keys();
    if (calls.size > MAX_IDS) calls.delete(oldest);
    try {
      await call;
    } catch (error) {
      calls.delete(id);
      throw error;
    }
    return [204];
  }

  return createServer((request, response) => {
    receive(request).then(
      ([status, body]) => response.writeHead(status).end(body),
      (error) => {
        console.error(error);
        response.writeHead(500).end();
      },
    );
  });
}

async function readBody(request) {
  const chunks = [];
  let size = 0;
  for await (const chunk of request) {
    size += chunk.length;
    if (size > MAX_BODY) throw new RangeError('the body is too large');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

/** Parses a message that is not verified. Returns an empty object for another text. */
function parseObject(body) {
  try {
    return JSON.parse(body) ?? {};
  } catch {
    return {};
  }
}

if (import.meta.filename === realpathSync(process.argv[1] ?? '')) {
  createReceiver(process.env.WEBHOOK_SECRET ?? '', console.log).listen(9000, '127.0.0.1');
}
