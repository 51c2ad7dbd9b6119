import { createPublicKey } from 'node:crypto';
import type { Channel, ChannelDelivery, DeliveryResult, Notification } from 'intentbook';
import { assertKnownOptions } from '#internal';
import { addressGuard } from './address-guard.ts';
import type { Posted } from './http-post.ts';
import { post } from './http-post.ts';

/** The keys of the host, which browsers know its messages by (VAPID). */
export interface WebPushOptions {
  /** Whom push services can turn to: a URL of https, or `mailto:somebody@example.org` (RFC 8292). */
  readonly subject: string;
  /** The key that browsers subscribe under, as web-push makes it: 65 bytes in base64url. */
  readonly publicKey: string;
  /** Its other half: 32 bytes in base64url. */
  readonly privateKey: string;
  /** Ranges of private addresses that are posted to all the same, over http too, for testing: `127.0.0.1/32`. */
  readonly allow?: readonly string[];
}

/** What a browser's `PushSubscription` says of itself. */
interface PushTarget {
  readonly endpoint: string;
  readonly keys: { readonly p256dh: string; readonly auth: string };
}

/**
 * Web push (RFC 8030), encrypted for the browser (RFC 8291) and signed by a key of its own (VAPID, RFC 8292). A target is
 * `JSON.stringify` of a browser's `PushSubscription`: only who has been given it can read what is sent. Private addresses are
 * rejected when the connection is made, and redirects are not followed. Needs the package web-push.
 *
 * @throws TypeError for an unknown option, or one that is missing or malformed. It repeats no secrets.
 */
export function webPushChannel(options: WebPushOptions): Channel {
  assertKnownOptions('webPushChannel', options, ['subject', 'publicKey', 'privateKey', 'allow']);
  const { subject, publicKey, privateKey, allow = [] } = options;
  if (!/^(mailto:[^@\s]+@[^@\s]+|https:\/\/[^/\s]+.*)$/.test(subject)) {
    throw new TypeError('webPushChannel: subject must be a URL of https, or mailto: and an address');
  }
  if (!isPublicKey(publicKey)) throw new TypeError('webPushChannel: publicKey must be a P-256 point in base64url');
  if (bytesOf(privateKey)?.length !== 32)
    throw new TypeError('webPushChannel: privateKey must be 32 bytes in base64url');
  const guard = addressGuard(allow);
  const vapidDetails = { subject, publicKey, privateKey };

  return {
    name: 'webpush',
    signs: false,
    // The target has a secret in it that the browser has made up.
    confirmation: 'none',
    parseTarget: (target) => parseTarget(target, allow.length > 0),
    async deliver(delivery, { signal }) {
      const { default: webPush } = await import('web-push');
      const target = JSON.parse(delivery.subscription.target) as PushTarget; // as parsed
      const request = webPush.generateRequestDetails(target, payloadOf(delivery), {
        vapidDetails,
        contentEncoding: 'aes128gcm',
        // A second try takes the place of the first at a push service that still has it.
        topic: delivery.id.replace(/^msg_/, ''),
      });
      const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]));
      return resultOf(await post({ url: target.endpoint, headers, body: request.body, signal, guard }));
    },
  };
}

function parseTarget(text: string, plain: boolean): string | undefined {
  let target: Partial<PushTarget> | null;
  try {
    target = JSON.parse(text) as Partial<PushTarget> | null; // judged below
  } catch {
    return undefined;
  }
  const { endpoint, keys } = target ?? {};
  if (typeof endpoint !== 'string' || !URL.canParse(endpoint)) return undefined;
  const { protocol, username, password, href } = new URL(endpoint);
  if (protocol !== 'https:' && !(plain && protocol === 'http:')) return undefined;
  const { p256dh, auth } = keys ?? {};
  if (username !== '' || password !== '' || !isPublicKey(p256dh) || bytesOf(auth)?.length !== 16) return undefined;
  return JSON.stringify({ endpoint: href, keys: { p256dh, auth } });
}

function bytesOf(text: unknown): Buffer | undefined {
  return typeof text === 'string' && /^[A-Za-z0-9_-]+=*$/.test(text) ? Buffer.from(text, 'base64url') : undefined;
}

/** Whether it is a point on the curve P-256, uncompressed. */
function isPublicKey(text: unknown): boolean {
  const bytes = bytesOf(text);
  if (bytes?.length !== 65 || bytes[0] !== 4) return false;
  const [x, y] = [bytes.subarray(1, 33), bytes.subarray(33)].map((half) => half.toString('base64url')) as [
    string,
    string,
  ]; // of two
  try {
    createPublicKey({ key: { kty: 'EC', crv: 'P-256', x, y }, format: 'jwk' });
    return true;
  } catch {
    return false;
  }
}

function payloadOf({ id, body }: ChannelDelivery): string {
  const { type, timestamp } = JSON.parse(body) as Notification; // rendered from one
  return `{"id":${JSON.stringify(id)},"type":${JSON.stringify(type)},"timestamp":${JSON.stringify(timestamp)},"data":${body}}`;
}

/** What a push service's answer means: it knows the browser no more with 404 and 410 (RFC 8030, 7.3). */
function resultOf({ status, retryAfter }: Posted): DeliveryResult {
  if (status >= 200 && status < 300) return { status: 'delivered' };
  const error = `answered ${status}`;
  if (status === 404 || status === 410) return { status: 'gone', error };
  return { status: 'failed', error, ...(retryAfter === undefined ? {} : { retryAfter }) };
}
