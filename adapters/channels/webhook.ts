import { createHmac } from 'node:crypto';
import type { Channel, ChannelDelivery } from 'intentbook';
import type { Notification } from 'intentbook/accounts';
import { assertKnownOptions } from '#internal';
import { BusyAddress, createAddressGuard, post, toDeliveryResult } from './http-post.ts';

/** Options of the webhook channel. */
export interface WebhookOptions {
  /**
   * Ranges of private addresses to allow, for tests: `127.0.0.1/32`. 169.254.0.0/16 is always rejected.
   */
  readonly allow?: readonly string[];
}

/**
 * Creates a webhook channel that signs its requests according to Standard Webhooks. A target is an http or https URL
 * without credentials. It confirms a subscription by responding to
 * `{"type":"subscription.challenge","challenge":"…"}` with a body that contains the challenge. Private addresses are
 * rejected when the connection is made, and redirects are not followed.
 *
 * @throws TypeError for an unknown option or an invalid range.
 */
export function webhookChannel(options: WebhookOptions = {}): Channel {
  assertKnownOptions('webhookChannel', options, ['allow']);
  const guard = createAddressGuard(options.allow ?? [], 'webhookChannel: allow');
  const json = { 'content-type': 'application/json', 'user-agent': 'intentbook' };

  return {
    name: 'webhook',
    signs: true,
    confirmation: 'echo',
    parseTarget,
    getHost: (target) => new URL(target).host,
    async challenge(url, challenge, { signal }) {
      const body = JSON.stringify({ type: 'subscription.challenge', challenge });
      const { status, body: responseBody } = await post({
        url,
        headers: json,
        body,
        signal,
        guard,
        expected: challenge,
      });
      return status >= 200 && status < 300 && responseBody.includes(challenge);
    },
    async deliver(delivery, { signal, enter }) {
      const body = formatPayload(delivery);
      const headers = { ...json, ...createSignatureHeaders(delivery, body) };
      const url = delivery.subscription.target;
      try {
        // Standard Webhooks requires that the subscription is removed after 410.
        return toDeliveryResult(await post({ url, headers, body, signal, guard, enter }), [410]);
      } catch (failure) {
        if (failure instanceof BusyAddress) return { status: 'deferred' };
        throw failure;
      }
    },
  };
}

function parseTarget(target: string): string | undefined {
  if (!URL.canParse(target)) return undefined;
  const url = new URL(target);
  url.hash = ''; // is not sent, so it would make two targets of one
  const { protocol, username, password, href } = url;
  const isValid = (protocol === 'https:' || protocol === 'http:') && username === '' && password === '';
  return isValid ? href : undefined;
}

function formatPayload({ body }: ChannelDelivery): string {
  const { type, timestamp } = JSON.parse(body) as Notification; // rendered from a notification
  return `{"type":${JSON.stringify(type)},"timestamp":${JSON.stringify(timestamp)},"data":${body}}`;
}

/** Creates the headers of Standard Webhooks 1.0: HMAC-SHA-256 of id, time and body. */
function createSignatureHeaders({ id, now, subscription }: ChannelDelivery, body: string): Record<string, string> {
  const timestamp = String(Math.floor(now / 1000));
  const key = Buffer.from((subscription.secret ?? '').replace(/^whsec_/, ''), 'base64');
  const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64');
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': `v1,${signature}` };
}
