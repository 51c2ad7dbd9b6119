import { createHmac } from 'node:crypto';
import type { Channel, ChannelDelivery, DeliveryResult, Notification } from 'intentbook';
import { assertKnownOptions } from '#internal';
import { addressGuard } from './address-guard.ts';
import type { Posted } from './http-post.ts';
import { post } from './http-post.ts';

/** Which addresses may be called, and for how long. */
export interface WebhookOptions {
  /**
   * Ranges of private addresses that are posted to all the same, for testing: `127.0.0.1/32`. 169.254.0.0/16 stays
   * rejected even then.
   */
  readonly allow?: readonly string[];
}

/**
 * Webhooks, signed as Standard Webhooks says. A target is a URL of http or https, without credentials; it proves that it
 * wants them by answering `{"type":"subscription.challenge","challenge":"…"}` with a body that has the challenge in it.
 * Private addresses are rejected when the connection is made, and redirects are not followed.
 *
 * @throws TypeError for an unknown option, or a range that is none.
 */
export function webhookChannel(options: WebhookOptions = {}): Channel {
  assertKnownOptions('webhookChannel', options, ['allow']);
  const guard = addressGuard(options.allow ?? []);
  const json = { 'content-type': 'application/json', 'user-agent': 'intentbook' };

  return {
    name: 'webhook',
    signs: true,
    confirmation: 'echo',
    parseTarget,
    async challenge(url, challenge, { signal }) {
      const body = JSON.stringify({ type: 'subscription.challenge', challenge });
      const answer = await post({ url, headers: json, body, signal, guard });
      return answer.status >= 200 && answer.status < 300 && answer.body.includes(challenge);
    },
    async deliver(delivery, { signal }) {
      const body = payloadOf(delivery);
      const headers = { ...json, ...signatureOf(delivery, body) };
      return resultOf(await post({ url: delivery.subscription.target, headers, body, signal, guard }));
    },
  };
}

function parseTarget(target: string): string | undefined {
  if (!URL.canParse(target)) return undefined;
  const { protocol, username, password, href } = new URL(target);
  const plain = (protocol === 'https:' || protocol === 'http:') && username === '' && password === '';
  return plain ? href : undefined;
}

function payloadOf({ body }: ChannelDelivery): string {
  const { type, timestamp } = JSON.parse(body) as Notification; // rendered from one
  return `{"type":${JSON.stringify(type)},"timestamp":${JSON.stringify(timestamp)},"data":${body}}`;
}

/** The headers of Standard Webhooks 1.0: HMAC-SHA-256 over id, time and body. */
function signatureOf({ id, now, subscription }: ChannelDelivery, body: string): Record<string, string> {
  const timestamp = String(Math.floor(now / 1000));
  const key = Buffer.from((subscription.secret ?? '').replace(/^whsec_/, ''), 'base64');
  const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64');
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': `v1,${signature}` };
}

/** What an answer means: 410 takes the subscription away, as Standard Webhooks has it. */
function resultOf({ status, retryAfter }: Posted): DeliveryResult {
  if (status >= 200 && status < 300) return { status: 'delivered' };
  const error = `answered ${status}`;
  if (status === 410) return { status: 'gone', error };
  return { status: 'failed', error, ...(retryAfter === undefined ? {} : { retryAfter }) };
}
