import type { ServerResponse } from 'node:http';
import type { ChannelDelivery } from 'intentbook';
import { ALICES } from '../../unit/accounts/accounts-fixture.ts';

const NOW = 1_700_000_000_999;
/** Options of a call that is not aborted. */
export const call = () => ({ signal: new AbortController().signal });

/** A notification as JSON. */
export const BODY = JSON.stringify({
  id: 'one',
  account: ALICES,
  type: 'order_filled',
  message: 'Sold 1 WETH',
  timestamp: '2023-11-14T22:13:20.000Z',
  metadata: { orderUid: '0x12' },
});

/** Returns a delivery to a target, signed with the key `a key`. */
export function deliveryTo(target: string, changes: Partial<ChannelDelivery> = {}): ChannelDelivery {
  const subscription = {
    id: '00',
    account: ALICES,
    channel: 'any',
    target,
    secret: `whsec_${Buffer.from('a key').toString('base64')}`,
    types: ['order_filled'],
    state: 'active',
    createdAt: 0,
  } as const;
  return { id: 'msg_1', subscription, body: BODY, now: NOW, ...changes };
}

/** Responds with a status, headers and a body. */
export const responding =
  (status: number, body = '', headers: Record<string, string> = {}) =>
  (_: string, response: ServerResponse) =>
    void response.writeHead(status, headers).end(body);
