import { createECDH, createPublicKey } from 'node:crypto';
import { isIP } from 'node:net';
import type { Channel, ChannelDelivery } from 'intentbook';
import type { Notification } from 'intentbook/accounts';
import { assertKnownOptions, importPackage } from '#internal';
import { createAddressGuard, post, toDeliveryResult } from './http-post.ts';

/** VAPID keys of the host, which identify it to push services. */
export interface WebPushOptions {
  /**
   * Contact for push services: an https URL, or `mailto:admin@example.org` (RFC 8292). Its host must be public, because
   * Apple rejects the messages of others.
   */
  readonly subject: string;
  /** Public key, which browsers subscribe with: 65 bytes in base64url, as the package web-push generates it. */
  readonly publicKey: string;
  /** Private key: 32 bytes in base64url. */
  readonly privateKey: string;
  /**
   * Host names of further push services: `push.example.org`, or `*.example.org` for its subdomains. Default: only the
   * services of Google, Mozilla, Apple and Microsoft.
   */
  readonly hosts?: readonly string[];
  /**
   * Ranges of private addresses to allow, for tests: `127.0.0.1/32`. An endpoint that names such an address needs no
   * https.
   */
  readonly allow?: readonly string[];
}

/** Fields of a browser's `PushSubscription`. */
interface PushTarget {
  readonly endpoint: string;
  readonly keys: { readonly p256dh: string; readonly auth: string };
}

/**
 * Creates a web push channel (RFC 8030), encrypted for the browser (RFC 8291) and signed with VAPID (RFC 8292). A
 * target is `JSON.stringify` of a browser's `PushSubscription`: only the browser that created it can read the messages.
 * Private addresses are rejected when the connection is made, and redirects are not followed. Requires the package
 * web-push.
 *
 * @throws TypeError for an unknown, missing or malformed option. The message contains no secrets.
 */
export function webPushChannel(options: WebPushOptions): Channel {
  assertKnownOptions('webPushChannel', options, ['subject', 'publicKey', 'privateKey', 'hosts', 'allow']);
  const { subject, publicKey, privateKey, hosts = [], allow = [] } = options;
  const [, mailHost, webHost] = /^(?:mailto:[^@\s]+@([^@\s?]+)\S*|https:\/\/([^/\s?#:]+).*)$/.exec(subject) ?? [];
  if (!/.\.[a-z0-9-]+$/i.test(mailHost ?? webHost ?? '') || /\.(local|localhost)$/i.test(mailHost ?? webHost ?? '')) {
    const expected = 'an https URL, or "mailto:" and an e-mail address, of a public host';
    throw new TypeError(`webPushChannel: subject must be ${expected}`);
  }
  if (!isPublicKey(publicKey)) throw new TypeError('webPushChannel: publicKey must be a P-256 point in base64url');
  if (decodeBase64Url(privateKey)?.length !== 32)
    throw new TypeError('webPushChannel: privateKey must be 32 bytes in base64url');
  if (getPublicKey(privateKey) !== trimPadding(publicKey))
    throw new TypeError('webPushChannel: privateKey must be the key of publicKey');
  const invalid = hosts.find((host) => !isHostPattern(host));
  if (invalid !== undefined) throw new TypeError(`webPushChannel: hosts must be host names, got "${invalid}"`);
  const guard = createAddressGuard(allow, 'webPushChannel: allow');
  const publicGuard = createAddressGuard([], 'webPushChannel: allow');
  const services = [...PUSH_SERVICES, ...hosts.map((host) => host.toLowerCase())];
  const isAllowed: EndpointCheck = ({ protocol, hostname }) => {
    const address = hostname.replace(/^\[|\]$/g, '');
    if (isIP(address) !== 0 && guard.allows(address) && !publicGuard.allows(address)) return /^https?:$/.test(protocol);
    return protocol === 'https:' && services.some((host) => matchesHost(host, hostname));
  };
  const vapidDetails = { subject, publicKey, privateKey };

  return {
    name: 'webpush',
    signs: false,
    // The target contains a secret that the browser generated.
    confirmation: 'none',
    parseTarget: (target) => parseTarget(target, isAllowed),
    async deliver(delivery, { signal }) {
      const { default: webPush } = await importPackage('webPushChannel', 'web-push', () => import('web-push'));
      const target = JSON.parse(delivery.subscription.target) as PushTarget; // validated by parseTarget
      const request = webPush.generateRequestDetails(target, formatPayload(delivery), {
        vapidDetails,
        contentEncoding: 'aes128gcm',
        TTL,
        // A retry replaces the earlier message at a push service that still stores it.
        topic: delivery.id.replace(/^msg_/, ''),
      });
      const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]));
      const posted = await post({ url: target.endpoint, headers, body: request.body, signal, guard });
      return toDeliveryResult(posted, [404, 410]); // the subscription does not exist (RFC 8030, 7.3)
    },
  };
}

/** Seconds for which a push service stores a message for a browser that is offline. Older news would mislead. */
const TTL = 86_400;

/** Returns whether messages may be sent to an endpoint. */
type EndpointCheck = (endpoint: URL) => boolean;

/**
 * Parses a target. Only known push services are accepted, because this channel needs no confirmation: otherwise anyone
 * could make the server send requests to any host.
 */
function parseTarget(text: string, isAllowed: EndpointCheck): string | undefined {
  let target: Partial<PushTarget> | null;
  try {
    target = JSON.parse(text) as Partial<PushTarget> | null; // validated below
  } catch {
    return undefined;
  }
  const { endpoint, keys } = target ?? {};
  if (typeof endpoint !== 'string' || !URL.canParse(endpoint)) return undefined;
  const url = new URL(endpoint);
  url.hash = ''; // is not sent
  const { username, password, href } = url;
  if (!isAllowed(url)) return undefined;
  const { p256dh, auth } = keys ?? {};
  if (username !== '' || password !== '') return undefined;
  if (!isPublicKey(p256dh) || decodeBase64Url(auth)?.length !== 16) return undefined;
  return JSON.stringify({ endpoint: href, keys: { p256dh: trimPadding(p256dh), auth: trimPadding(auth) } });
}

/** The push services of browsers. */
const PUSH_SERVICES = [
  'fcm.googleapis.com',
  'jmt17.google.com',
  'updates.push.services.mozilla.com',
  '*.push.apple.com',
  '*.notify.windows.com',
];

/** Returns whether a text is a host name without a port, or `*.` and such a name. */
function isHostPattern(text: string): boolean {
  const host = text.replace(/^\*\./, '');
  return URL.canParse(`https://${host}`) && new URL(`https://${host}`).hostname === host.toLowerCase();
}

/** @param pattern - A host name in lower case, or `*.` and a parent domain. */
function matchesHost(pattern: string, hostname: string): boolean {
  return pattern.startsWith('*.') ? hostname.endsWith(pattern.slice(1)) : hostname === pattern;
}

function decodeBase64Url(text: unknown): Buffer | undefined {
  return typeof text === 'string' && /^[A-Za-z0-9_-]+=*$/.test(text) ? Buffer.from(text, 'base64url') : undefined;
}

/** Returns the one form of a text in base64url. */
const trimPadding = (text: unknown) => String(text).replace(/=+$/, '');

/** Returns whether a text is an uncompressed point on the curve P-256. */
function isPublicKey(text: unknown): boolean {
  const bytes = decodeBase64Url(text);
  if (bytes?.length !== 65 || bytes[0] !== 4) return false;
  const [x, y] = [bytes.subarray(1, 33), bytes.subarray(33)].map((half) => half.toString('base64url')) as [
    string,
    string,
  ]; // two halves
  try {
    createPublicKey({ key: { kty: 'EC', crv: 'P-256', x, y }, format: 'jwk' });
    return true;
  } catch {
    return false;
  }
}

/** Returns the public key of a private key. `undefined` if it is 0 or above the order of the curve. */
function getPublicKey(privateKey: string): string | undefined {
  const ecdh = createECDH('prime256v1');
  try {
    ecdh.setPrivateKey(privateKey, 'base64url');
    return ecdh.getPublicKey('base64url');
  } catch {
    return undefined;
  }
}

function formatPayload({ id, body }: ChannelDelivery): string {
  const { type, timestamp } = JSON.parse(body) as Notification; // rendered from a notification
  const [jsonId, jsonType, jsonTime] = [id, type, timestamp].map((value) => JSON.stringify(value));
  return `{"id":${jsonId},"type":${jsonType},"timestamp":${jsonTime},"data":${body}}`;
}
