import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';

/** Age of a message above which it is rejected as a replay, in seconds. */
const TOLERANCE = 300;

/**
 * Verifies a message as Standard Webhooks 1.0 defines it.
 *
 * @param headers - Headers with names in lower case.
 * @param body - The body as it was received, before it is parsed.
 * @param secret - The secret of the subscription: `whsec_…`.
 */
export function verify(headers, body, secret, now = Date.now() / 1000) {
  const { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures = '' } = headers;
  if (!(Math.abs(now - Number(timestamp)) <= TOLERANCE)) return false;
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
  const expected = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest();
  return signatures.split(' ').some((signature) => {
    const [version, value = ''] = signature.split(',');
    const given = Buffer.from(value, 'base64');
    return version === 'v1' && given.length === expected.length && timingSafeEqual(given, expected);
  });
}

/** Creates a server that calls `onNotification` once for each verified message. */
export function createReceiver(secret, onNotification) {
  const seen = new Set(); // a message may be delivered more than once
  return createServer(async (request, response) => {
    const body = await text(request);
    const isChallenge = body.includes('"type":"subscription.challenge"');
    if (isChallenge) return response.end(JSON.stringify({ challenge: JSON.parse(body).challenge }));
    if (!verify(request.headers, body, secret)) return response.writeHead(401).end();
    const id = request.headers['webhook-id'];
    if (!seen.has(id)) {
      seen.add(id);
      await onNotification(JSON.parse(body));
    }
    response.writeHead(204).end();
  });
}

if (import.meta.filename === process.argv[1]) {
  createReceiver(process.env.WEBHOOK_SECRET ?? '', console.log).listen(9000, '127.0.0.1');
}
