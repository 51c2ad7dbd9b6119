import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { LoadRoute } from '../load-routes.ts';
import { LOAD_ROUTES, OWNER_ADDRESS, UID } from '../load-routes.ts';

/** Numbers of connections of an attacker. */
export const CONNECTIONS = [1, 8, 250] as const;

/** A request that an attacker repeats on many connections, and the behaviour of the services behind it. */
export interface Attack extends LoadRoute {
  readonly service?: ServiceMode;
}

const json = { 'content-type': 'application/json' };
const MIB = 'a'.repeat(1_000_000);
const OWNED = `/accounts/${OWNER_ADDRESS}`;

const SERVICES = ['fails', 'hangs', 'drips'] as const;
/** The behaviour of a service. */
export type ServiceMode = (typeof SERVICES)[number];

/** All attacks by requests: each route of the suite `load`, those of accounts, large and malformed bodies. */
export const ATTACKS: readonly Attack[] = [
  ...LOAD_ROUTES,
  {
    name: 'POST /api/v1/orders/by_uids, 1 MB',
    path: '/api/v1/orders/by_uids',
    method: 'POST',
    headers: json,
    body: `["${MIB}"]`,
  },
  {
    name: 'DELETE /api/v1/orders, 1 MB',
    path: '/api/v1/orders',
    method: 'DELETE',
    headers: json,
    body: `{"orderUids":["${MIB}"]}`,
  },
  {
    name: 'POST /api/v1/orders, 1 MB',
    path: '/api/v1/orders',
    method: 'POST',
    headers: json,
    body: `{"appData":"${MIB}"}`,
  },
  {
    name: 'PUT /api/v1/app_data',
    path: '/api/v1/app_data',
    method: 'PUT',
    headers: json,
    body: '{"fullAppData":"{}"}',
  },
  { name: `GET ${'/accounts/{account}'}/notifications`, path: `${OWNED}/notifications` },
  {
    name: 'GET /accounts/{account}/notifications/stream, resumed',
    path: `${OWNED}/notifications/stream`,
    headers: { 'last-event-id': '1' },
  },
  { name: 'GET /accounts/{account}/orders, CSV', path: `${OWNED}/orders?format=csv` },
  { name: 'GET /accounts/{account}/trades, CSV', path: `${OWNED}/trades?format=csv` },
  {
    name: 'POST /accounts/{account}/subscriptions, malformed',
    path: `${OWNED}/subscriptions`,
    method: 'POST',
    headers: json,
    body: '{}',
  },
  { name: 'GET /ref-codes/{code}', path: '/ref-codes/ABCDEF' },
  { name: 'GET /openapi.json', path: '/openapi.json' },
  ...SERVICES.flatMap((service): Attack[] => [
    {
      name: `GET usdPrice of other tokens, the source ${service}`,
      path: '/11155111/tokens/0x{number}/usdPrice',
      service,
    },
    {
      name: `POST /api/v1/quote, the driver ${service}`,
      path: '/api/v1/quote',
      method: 'POST',
      headers: json,
      body: JSON.stringify({
        sellToken: `0x${'e1'.repeat(20)}`,
        buyToken: `0x${'e2'.repeat(20)}`,
        from: OWNER_ADDRESS,
        kind: 'sell',
        sellAmountBeforeFee: '1000000000000',
      }),
      service,
    },
    { name: `100 webhooks of 20 accounts, which the receiver ${service}`, path: `/api/v1/orders/${UID}`, service },
  ]),
];

/** A service that fails, hangs or drips: a price source, a driver, and a receiver of webhooks. */
export async function createService() {
  const state = { mode: 'fails' as ServiceMode };
  const open = new Set<NodeJS.Timeout>();
  const server = createServer((incoming: IncomingMessage, response: ServerResponse) => {
    incoming.resume();
    if (state.mode === 'fails') return void response.writeHead(500).end();
    if (state.mode === 'hangs') return;
    response.writeHead(200, { 'content-type': 'application/json' });
    const timer = setInterval(() => response.write(' '), 100);
    open.add(timer);
    response.on('close', () => clearInterval(timer));
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.9', resolve));
  return {
    url: `http://127.0.0.9:${(server.address() as AddressInfo).port}`, // it listens
    state,
    close() {
      for (const timer of open) clearInterval(timer);
      server.closeAllConnections();
      server.close();
    },
  };
}
