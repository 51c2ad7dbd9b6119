import { randomBytes } from 'node:crypto';
import type { AccountStore, Hex, Store } from 'intentbook';
import { systemClock } from 'intentbook';
import { address, word } from '../../../conformance/orders.ts';
import { completeOrder } from '../../../support/complete-orders.ts';
import { SEPOLIA_DOMAIN } from '../../../support/orders.ts';
import { OWNER_ADDRESS } from '../load-routes.ts';
import { ATTACKERS } from './webhook-attack.ts';

const BATCH = 500;
const VALID_TO = 4_000_000_000;

/** Numbers of rows. */
export interface FairnessSize {
  readonly orders: number;
  readonly trades: number;
  readonly notifications: number;
}

/** Fills a book. One owner has a quarter of the orders and all trades. */
export async function fillBook(
  store: Store,
  { orders, trades }: Pick<FairnessSize, 'orders' | 'trades'>,
): Promise<void> {
  await store.open({ domain: SEPOLIA_DOMAIN, clock: systemClock });
  const create = (n: number) => {
    const [sellToken, buyToken] = [address(0xe000 + (n % 20)), address(0xe000 + ((n + 7) % 20))];
    const owner = n % 4 === 0 ? OWNER_ADDRESS : address(0xb000 + (n % 5000));
    const uid: Hex = `${word(n + 1)}${owner.slice(2)}${VALID_TO.toString(16)}`;
    // One date for all would make each page of PostgreSQL read every order.
    const creationDate = 1_700_000_000_000 + n;
    return completeOrder(n, { uid, owner, sellToken, buyToken, validTo: VALID_TO, creationDate });
  };
  for (let i = 0; i < orders; i += BATCH) {
    const rows = Array.from({ length: Math.min(BATCH, orders - i) }, (_, n) => ({ order: create(i + n) }));
    await store.orders.insert(rows);
  }
  for (let i = 0; i < trades; i += BATCH) {
    const events = Array.from({ length: Math.min(BATCH, trades - i) }, (_, n) => {
      const { uid, owner, sellToken, buyToken } = create(4 * ((i + n) % (orders / 4)));
      const blockNumber = 10 + Math.floor((i + n) / 50);
      return {
        type: 'trade' as const,
        blockNumber,
        blockHash: word(blockNumber),
        logIndex: (i + n) % 50,
        transactionHash: word(i + n + 1),
        timestamp: null,
        uid,
        owner,
        sellToken,
        buyToken,
        sellAmount: '1',
        buyAmount: '2',
        feeAmount: '0',
        executedFee: '1',
        prices: { sellToken: String(10n ** 18n), buyToken: String(10n ** 18n) },
        protocolFees: [],
      };
    });
    const { blockNumber: number = 0, blockHash: hash = word(0) } = events.at(-1) ?? {};
    const known = { events, blocks: [], forgetBelow: number - 10, at: 1_700_000_000_000 };
    await store.chain.apply({ ...known, through: { number, hash } });
  }
  await store.close();
}

/** Fills an account store, and subscribes the accounts of the attacker to a target, five times each. */
export async function fillAccounts(store: AccountStore, size: FairnessSize, attackerUrl: string): Promise<void> {
  await store.open({ clock: systemClock });
  const at = 1_700_000_000_000;
  for (let i = 0; i < size.notifications; i += BATCH) {
    const changes = Array.from({ length: Math.min(BATCH, size.notifications - i) }, (_, n) => {
      const id = `filled-${i + n}`;
      const base = { id, account: OWNER_ADDRESS, type: 'order_filled' as const };
      const metadata = { orderUid: word(n), chainId: 11155111, env: 'production' };
      const body = JSON.stringify({
        ...base,
        message: `Your order was filled: ${i} A for ${n} B`,
        timestamp: '2023-11-14T22:13:20.000Z',
        metadata,
      });
      return { type: 'notify' as const, notification: { ...base, at, body } };
    });
    await store.notifications.append({ feed: 'fill', after: i === 0 ? null : i, through: i + BATCH, changes });
  }
  const now = Date.now();
  for (const { address: owner } of ATTACKERS) {
    const account = owner.toLowerCase() as `0x${string}`; // an address
    for (let n = 0; n < 5; n++) await subscribe(store, account, `${attackerUrl}/${account}/${n}`, now);
  }
  await store.close();
}

/** Stores an active subscription to a webhook. */
export async function subscribe(
  store: AccountStore,
  account: `0x${string}`,
  target: string,
  now: number,
): Promise<void> {
  await store.subscriptions.create({
    subscription: {
      id: randomBytes(16).toString('hex'),
      account,
      channel: 'webhook',
      target,
      types: ['order_cancelled', 'order_filled'],
      state: 'active',
      secret: `whsec_${randomBytes(24).toString('base64')}`,
      createdAt: now,
    },
    nonce: { account, nonce: String(Math.floor(Math.random() * 2 ** 40)), expiresAt: now + 86_400_000 },
    quota: 20,
    now,
  });
}
