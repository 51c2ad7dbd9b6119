import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { root } from './docs-pages.ts';

const PROFILE = 'test/unit/orders/profile.test.ts';
const SHAPES = 'requests whose shape production accepts or rejects with another status';
const CONVENTIONS = 'test/integration/http/cases/conventions.ts';
const SLIPPAGE = 'test/unit/accounts/slippage.test.ts';
const FEES = 'test/unit/auctions/fee-policies.test.ts';
const CURRENT = 'test/unit/auctions/current-auction.test.ts';
const TYPES = 'test/property/production-shapes.test.ts';
const SIMULATION = 'test/integration/sandbox/order-simulation.test.ts';

/** The test of each difference: its file, and a part of its title. */
const TESTS: Readonly<Record<string, readonly [file: string, title: string]>> = {
  'error body': [CONVENTIONS, 'a body that is not JSON is 400 InvalidJson'],
  '`NoLiquidity`': [PROFILE, 'responds 404 without liquidity, also to a native price'],
  '`InvalidSignature`': [PROFILE, '%s: code of a signature of another signer'],
  'reasons of solvers': [PROFILE, 'shows the reason of a solver as data without production codes'],
  'quote request of the wrong shape, such as a zero amount': [
    PROFILE,
    'rejects %j, which does not fit the type of a request, with 422',
  ],
  'amounts in hex': [PROFILE, SHAPES],
  'amount of 2<sup>256</sup>, signature of a wrong length': [PROFILE, SHAPES],
  'cancellation of no orders': [PROFILE, SHAPES],
  'size of a request': [CONVENTIONS, 'a body past its limit is 413'],
  'document of the zero hash': [PROFILE, SHAPES],
  'validity of a quote': ['test/unit/quotes/request.test.ts', 'validity of a year is rejected for ECDSA'],
  '`fee_amount` of `SellAmountDoesNotCoverFee`': [
    'test/unit/quotes/request.test.ts',
    'a sell amount below the fee is SellAmountDoesNotCoverFee with the lowest fee',
  ],
  'more than 128 UIDs': [CONVENTIONS, 'more than 128 UIDs are rejected before any is decoded'],
  'malformed UID in `by_uids`': [CONVENTIONS, 'an invalid UID in by_uids is 422 with its index'],
  'slippage of an unknown pair': [SLIPPAGE, 'returns the default of an unknown pair, cacheable as in production'],
  'slippage of few or equal prices': [SLIPPAGE, 'is unknown without a history, a spot price or 12 common points'],
  'slippage above 50 %': [SLIPPAGE, 'returns the volatility of the pair, rounded up and limited to 50 %'],
  'body of a simulation': ['test/unit/accounts/simulation.test.ts', 'rejects the bundle %j'],
  'trailing slash': [CONVENTIONS, 'a trailing slash is ignored'],
  'read of one order': ['test/integration/http/cases/caching.ts', 'an order has an ETag that changes with it'],
  'size of app data': [PROFILE, 'production accepts documents of 8192 bytes, unless a limit is given'],
  '`v` of a signature': ['test/unit/protocol/signature.test.ts', 'match all 256 values of v'],
  'app-data hash mismatch': ['test/unit/quotes/request.test.ts', 'app data with another hash'],
  'failed chain check': ['test/unit/orders/on-chain-checks.test.ts', 'rejects %s as ChainUnavailable'],
  'balance of fill-or-kill orders': [PROFILE, 'full: one atom is not sufficient for a fill-or-kill order'],
  'open orders per owner': ['test/unit/orders/rules.test.ts', 'reports limit, count and quota class'],
  'vault balances': [PROFILE, 'are rejected by the production profile'],
  'same sell and buy token, wrapped native for native': [PROFILE, '%s %j: a %s order'],
  'total surplus': ['test/unit/chain/surplus.test.ts', 'equals the sum of the canonical trades'],
  'fee of a quote': ['test/unit/quotes/fee.test.ts', 'is the quotient of exact rationals, rounded up'],
  'protocol fees in auctions': [FEES, 'apply to orders in the market, outside of it, or to both, before partner fees'],
  'factors of fee policies': [FEES, '%j basis points under %d parts per million are %j'],
  '`GET /api/v1/trades`': ['test/unit/http/trades.test.ts', 'trades of version 1 are the newest 10,000'],
  'protocol fees of trades': [FEES, 'have the exact amounts, behind a volume fee with buckets and upcoming rates'],
  '`GET /api/v1/account/{owner}/orders`, `GET /api/v2/trades`': [
    'test/unit/chain/reads.test.ts',
    'pages of trades continue at the position of their cursor',
  ],
  '`GET /api/v1/orders`': ['test/unit/orders/list-orders.test.ts', 'has the filters, with the status at the current'],
  events: ['test/unit/streams/order-streams.test.ts', 'order streams send the orders that match their filters'],
  'rate limits': ['test/integration/http/limits.test.ts', 'returns 429 RateLimited with a wait'],
  'just-in-time orders': [
    'test/unit/chain/just-in-time.test.ts',
    'is not stored if the settlement has no order and no auction of the book',
  ],
  'settlement of another environment': [
    'test/unit/records/settled-solution.test.ts',
    'settlement of another book that names the id of an own auction',
  ],
  'head of a node that contradicts the others': [
    'test/unit/auctions/drivers/settlements.test.ts',
    'does not depend on a node that claims a head %s',
  ],
  'equal trades of an order in a transaction': [
    'test/unit/records/new-events.test.ts',
    'reports a conflict if the calldata has another order with these amounts',
  ],
  'first number of an auction': [CURRENT, 'begins with the time of the first one, or with the number of the option'],
  'contract signatures that stop being valid': [
    'test/unit/auctions/signature-checks.test.ts',
    'that is rejected removes the order from auctions until it is accepted again',
  ],
  'native price of a vault': [
    'test/unit/quotes/native-price.test.ts',
    'is that of its assets, through vaults of vaults',
  ],
  'auctions as differences (`kind: delta`)': [
    'test/unit/auctions/drivers/deltas.test.ts',
    'driver that has failed receives the next auction complete',
  ],
  'fast path': [PROFILE, 'is rejected for orders and quotes; another value is ignored'],
  'gas cost of settlements and trades': [TYPES, 'auctions, competitions and trades have the types of production'],
  'events on NATS': ['test/integration/nats/publisher.test.ts', 'adds each entry of the log once, in its order'],
  'equal tokens of an order placed on chain': ['test/unit/chain/placement.test.ts', 'rules of a placement'],
  'validity of native-currency orders in auctions': [
    CURRENT,
    'has the signed validity of a native-currency order, until the effective one is too near',
  ],
  'status of a partially filled order': [
    'test/unit/auctions/competition-status.test.ts',
    'competition status of a partially filled order',
  ],
  'competition status': [CURRENT, 'have the status open and a reason; orders after the last auction are scheduled'],
  'debug report of an order': [CURRENT, 'is in the debug report of its orders, in the form of production'],
  'simulation of an order': [SIMULATION, 'succeeds for a funded order and changes nothing'],
  'errors of the simulation of a new order': [SIMULATION, 'rejects a missing owner, malformed app data and a fee'],
  'quote of a driver without gas': ['test/integration/drivers/http.test.ts', '{ amount: 2333n, gas: 250_000,'],
  'orders with a flash loan': [
    'test/integration/sandbox/flash-loan.test.ts',
    'an order that closes a debt is accepted without funds, and settled with the loan of a lender',
  ],
  'orders with a wrapper contract': [
    'test/integration/solver/wrapper-filter.test.ts',
    'leaves out orders whose settlement must call a wrapper',
  ],
  'order whose quote is late': [
    'test/unit/quotes/quoting-at-submission.test.ts',
    'is stored without a quote after the time limit',
  ],
  '`placementError`': ['test/unit/chain/placement.test.ts', "['ValidToTooFarInFuture', {"],
  '`quote.metadata` of an order that can be filled': [
    'test/unit/quotes/linking.test.ts',
    'hides the plan while the order can be filled, and shows it afterwards',
  ],
  '`/api/v1/solver_competition`': [CURRENT, "http.send('GET', '/api/v1/solver_competition/8')"],
  'orders in auctions': [CURRENT, 'expire before they can be settled'],
  'affiliate: used signature or wallet': [
    'test/unit/accounts/affiliates.test.ts',
    'accepts one code per wallet, one wallet per code and a signature once',
  ],
  notifications: ['test/unit/notifications/announcements.test.ts', 'are missing if the source returns no list'],
  'price in dollars of tokens of other virtual machines': [
    'test/unit/accounts/usd-price.test.ts',
    'rejects %s with 400',
  ],
  '`volatilityDetails`': [SLIPPAGE, 'returns the prices and the volatility of both tokens, null if it is unknown'],
  '`address/{address}/balances`': ['test/integration/prices/token-balances.test.ts', 'is 503 while a source fails'],
  '`/hooks`, `/twap/*`, `/proxies/*`': ['test/integration/server/passthroughs.test.ts', 'is absent by default'],
};

const PAGE = readFileSync(join(root, 'docs/compatibility.md'), 'utf8');
const [, SECTION = ''] = /^## Differences from production\n(.*?)^## /ms.exec(PAGE) ?? [];
const TOPICS = [...SECTION.matchAll(/^\| (.+?) \|/gm)].map(([, topic]) => topic).slice(1); // without the head

test('compatibility: each difference has a test, and each test a difference', () => {
  expect(TOPICS.length).toBeGreaterThan(50);
  expect(TOPICS.filter((topic) => topic !== '---').sort()).toEqual(Object.keys(TESTS).sort());
});

test.each(Object.entries(TESTS))('compatibility: the test of "%s" exists', (_, [file, title]) => {
  // A failure must not print the file.
  expect(readFileSync(join(root, file), 'utf8').includes(title)).toBe(true);
});
