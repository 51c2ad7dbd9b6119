/** Number of orders and of trades of the book. One owner has a quarter of the orders and all trades. */
export const [ORDERS, TRADES] = [120_000, 30_000];

export const OWNER_ADDRESS: `0x${string}` = `0x${(0xa11ce).toString(16).padStart(40, '0')}`;
const token = (n: number) => `0x${(0xe000 + n).toString(16).padStart(40, '0')}`;
const TX = `0x${'1'.padStart(64, '0')}`;

/** An order of the book. */
export const UID = `${TX}${OWNER_ADDRESS.slice(2)}${(4_000_000_000).toString(16)}`;

/** A request that the demanding client repeats. */
export interface LoadRoute {
  /** Description in the table of docs/reference/costs.md. */
  readonly name: string;
  readonly path: string;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Whether a stream resumes as far back as `resumeLimit` permits. */
  readonly resumes?: boolean;
}

const json = { 'content-type': 'application/json' };
const uids = JSON.stringify(Array.from({ length: 128 }, () => UID));

const get = (name: string, path: string): LoadRoute => ({ name: `GET /api/v1/${name}`, path: `/api/v1/${path}` });
const post = (name: string, path: string, body: string): LoadRoute => ({
  name: `POST /api/v1/${name}`,
  path: `/api/v1/${path}`,
  method: 'POST',
  headers: json,
  body,
});

/** Routes with the parameters that cause most work. Token 99 has no orders. */
export const LOAD_ROUTES: readonly LoadRoute[] = [
  get('version', 'version'),
  get('orders/{uid}', `orders/${UID}`),
  get('orders/{uid}/status', `orders/${UID}/status`),
  post('orders/by_uids, 128 UIDs', 'orders/by_uids', uids),
  get('orders, page of 1000', 'orders?limit=1000'),
  get('orders by a pair without orders', `orders?sellToken=${token(1)}&buyToken=${token(99)}`),
  get('orders by owner and a token without orders', `orders?owner=${OWNER_ADDRESS}&sellToken=${token(99)}`),
  get('orders by status and a token without orders', `orders?status=open&sellToken=${token(99)}`),
  get('orders by a status without orders', 'orders?status=expired&limit=1000'),
  get('account/{owner}/orders at offset 29000', `account/${OWNER_ADDRESS}/orders?limit=1000&offset=29000`),
  get('trades of 30000', `trades?owner=${OWNER_ADDRESS}`),
  {
    name: 'GET /api/v2/trades at offset 29000',
    path: `/api/v2/trades?owner=${OWNER_ADDRESS}&limit=1000&offset=29000`,
  },
  get('users/{owner}/total_surplus', `users/${OWNER_ADDRESS}/total_surplus`),
  get('auction', 'auction'),
  { ...get('orders/stream of an owner, resumed', `orders/stream?owner=${token(5)}`), resumes: true },
  { ...get('orders/stream of all orders, resumed', 'orders/stream'), resumes: true },
  get('transactions/{hash}/orders', `transactions/${TX}/orders`),
  get('solver_competition/latest', 'solver_competition/latest'),
  get('token/{token}/metadata', `token/${token(1)}/metadata`),
  post('orders, malformed', 'orders', '{}'),
];
