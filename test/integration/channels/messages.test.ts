import assert from 'node:assert/strict';
import type { FundsQuery, NotificationType, Order } from 'intentbook';
import type { Notification } from 'intentbook/accounts';
import { createAccountApi, NOTIFICATION_TYPES } from 'intentbook/accounts';
import { test } from 'vitest';
import { FUNDED, scriptedChain } from '../../support/chain.ts';
import { hashOf, tradeOf } from '../../support/chain-events.ts';
import { COW, signCancellation, WETH } from '../../support/orders.ts';
import { multiply, rational } from '../../support/rational.ts';
import type { AccountFixture } from '../../unit/accounts/accounts-fixture.ts';
import { ALICE, ALICES, accountFixture } from '../../unit/accounts/accounts-fixture.ts';
import { directFixture } from '../http/http-fixture.ts';
import { proof, until } from './channel-fixture.ts';
import { botRecipient, mailRecipient, pushRecipient, readMail, webhookRecipient } from './receivers.ts';

/** An amount of a token: atoms, and the decimals and the symbol of the token. */
interface Amount {
  readonly atoms: bigint;
  readonly decimals: number;
  readonly symbol: string;
}

const weth = (atoms: bigint): Amount => ({ atoms: round(atoms), decimals: 18, symbol: 'WETH' });
const cow = (atoms: bigint): Amount => ({ atoms: round(atoms), decimals: 6, symbol: 'COW' });

/** Rounds to six significant digits, half up. */
function round(atoms: bigint): bigint {
  const unit = 10n ** BigInt(Math.max(0, String(atoms).length - 6));
  return ((atoms + unit / 2n) / unit) * unit;
}
const [SOLD, LEAST, QUOTED, BOUGHT] = [1_234_567_890_123_456_789n, 2_000_000n, 2_200_000n, 2_500_001n];

/** What a person must read for a type: words of its description in the contract, and amounts in this order. */
interface Expected {
  readonly words: RegExp;
  readonly amounts: readonly Amount[];
  readonly subject: string;
  /** Amounts of the metadata, in atoms. */
  readonly metadata: Readonly<Record<string, string | boolean>>;
}

const executed = { executedSellAmount: String(SOLD), executedBuyAmount: String(BOUGHT) };
const part = { executedSellAmount: String(SOLD / 4n), executedBuyAmount: String(BOUGHT / 4n) };
const createExpected = (quoted: bigint, surplus: bigint): Readonly<Record<NotificationType, Expected>> => ({
  order_filled: {
    words: /^Your order was filled: /,
    amounts: [weth(SOLD), cow(BOUGHT)],
    subject: 'Order filled',
    metadata: { ...executed, totalSellAmount: String(SOLD), totalBuyAmount: String(BOUGHT) },
  },
  order_partially_filled: {
    words: /^Your order was filled in part: /,
    amounts: [weth(SOLD / 4n), cow(BOUGHT / 4n)],
    subject: 'Order partially filled',
    metadata: part,
  },
  order_cancelled: {
    words: /^Your order to exchange .* was cancelled$/,
    amounts: [weth(SOLD), cow(LEAST)],
    subject: 'Order cancelled',
    metadata: {},
  },
  order_expired: {
    words: /^Your order to exchange .* has expired\. It was filled in part: /,
    amounts: [weth(SOLD), cow(LEAST), weth(SOLD / 4n), cow(BOUGHT / 4n)],
    subject: 'Order expired',
    metadata: part,
  },
  insufficient_balance: {
    words: /^Your balance is too low for your order to exchange .*: it needs .*, you have /,
    amounts: [weth(SOLD), cow(LEAST), weth(SOLD), weth(7n)],
    subject: 'Insufficient balance',
    metadata: { requiredAmount: String(SOLD), balance: '7' },
  },
  price_improvement: {
    words: /^You received .* more than you were quoted: /,
    // The surplus of a sale is in the token that was bought.
    amounts: [cow(surplus), weth(SOLD), cow(BOUGHT)],
    subject: 'Price improvement',
    metadata: { ...executed, quotedBuyAmount: String(quoted), surplusAmount: String(surplus) },
  },
  order_reverted: {
    words: /^A reorganisation of the chain reverted a fill of your order: /,
    amounts: [weth(SOLD), cow(BOUGHT)],
    subject: 'Order corrected',
    metadata: { ...executed, restored: false },
  },
});

/** Returns the amounts of a sentence as exact fractions of atoms, which must be whole. */
function readAmounts(sentence: string): Amount[] {
  return [...sentence.matchAll(/(\d+)(?:\.(\d+))? (WETH|COW)\b/g)].map(([, whole = '', fraction = '', symbol = '']) => {
    const decimals = symbol === 'WETH' ? 18 : 6;
    assert.ok(fraction.length <= decimals, `${sentence} has more decimals than ${symbol}`);
    return { atoms: BigInt(whole + fraction.padEnd(decimals, '0')), decimals, symbol };
  });
}

const tokens = (_chainId: number, token: string) =>
  token === COW.toLowerCase() ? { decimals: 6, symbol: 'COW' } : undefined;

/** Quotes the order of the test: 2.2 COW, before the cost of gas. */
async function requestQuote({ book }: AccountFixture) {
  const request = { sellToken: WETH, buyToken: COW, from: ALICES, kind: 'sell' } as const;
  const result = await book.quotes.request({ ...request, sellAmountBeforeFee: String(SOLD) });
  assert.ok(result.status === 'quoted' && result.quote.id !== null, JSON.stringify(result));
  return result.quote.id;
}

/** Makes each type of notification happen, and returns the order of each. */
async function produceAll(fixture: AccountFixture, lowerBalance: () => void): Promise<Record<NotificationType, Order>> {
  const { book, clock, applyBlock, settled } = fixture;
  const now = Math.floor(clock.now() / 1000);
  const amounts = { sellAmount: String(SOLD), buyAmount: String(LEAST) };
  const place = (validity: number) => fixture.order({ ...amounts, partiallyFillable: true, validTo: now + validity });
  const filled = await fixture.order({ ...amounts, validTo: now + 1_000 }, { quoteId: await requestQuote(fixture) });
  const [part, cancelled, reverted] = [await place(130), await place(1_001), await place(1_002)];
  const poor = await fixture.order({ ...amounts, validTo: now + 1_003 });

  const trade = (order: Order, sold: bigint, bought: bigint) => ({
    ...tradeOf(order, sold, bought, hashOf(order.uid)),
    timestamp: now,
  });
  await applyBlock(1, [trade(filled, SOLD, BOUGHT), trade(part, SOLD / 4n, BOUGHT / 4n)]);
  const orderUids = [cancelled.uid];
  await book.orders.cancel({ orderUids, ...(await signCancellation(ALICE, { orderUids })) });
  await applyBlock(2, [trade(reverted, SOLD, BOUGHT)]);
  await settled();
  await book.chain.rollback(1);
  await settled();
  lowerBalance();
  // Deliveries that wait for a slot of the account need time, and so do attempts.
  const drain = () =>
    until(async () => {
      clock.advance(20);
      return (await fixture.accounts.deliveries.list({ state: 'pending' })).length === 0;
    });
  // Two checks in a row without funds are reported, and the validity of the partly filled order ends.
  for (let i = 0; i < 30; i++) {
    await drain();
    clock.advance(5_000);
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
  }
  await drain();
  const stored = await book.orders.get(filled.uid);
  assert.ok(stored);
  return {
    order_filled: stored,
    price_improvement: stored,
    order_partially_filled: part,
    order_expired: part,
    order_cancelled: cancelled,
    insufficient_balance: poor,
    order_reverted: reverted,
  };
}

/** Returns the atoms of the bought token that the sale exceeds its quote by, after the fee at the quoted rate. */
function computeSurplus({ quote }: Order): { quoted: bigint; surplus: bigint } {
  assert.ok(quote);
  const [sell, buy, fee] = [quote.sellAmount, quote.buyAmount, quote.feeAmount].map(BigInt) as [bigint, bigint, bigint];
  const exact = multiply(rational(buy, sell), multiply(rational(SOLD), rational(sell - fee, sell)));
  const quoted = (exact.n + exact.d - 1n) / exact.d;
  assert.ok(quoted > LEAST, 'the quote demands more than the limit');
  return { quoted, surplus: BOUGHT - quoted };
}

test('each type of notification has the same amounts, of six digits, and words on every channel', async () => {
  await using webhook = await webhookRecipient();
  await using push = await pushRecipient();
  await using mail = await mailRecipient();
  await using bot = await botRecipient();
  const recipients = { webhook, push, mail, bot };
  let isPoor = false;
  const chain = scriptedChain({
    balanceAndAllowance: (_query: FundsQuery) => (isPoor ? { balance: 7n, allowance: 2n ** 255n } : FUNDED),
  });
  const estimators = [{ name: 'fixed', estimate: () => ({ amount: QUOTED, gas: 1 }), nativePrice: () => '1' }];
  await using fixture = await accountFixture({
    now: Date.now(),
    tokens,
    revertedNotifications: 'on',
    fundingInterval: 5_000,
    channels: Object.values(recipients).map(({ channel }) => channel),
    bookOptions: { chain, quotes: { gasPrice: '1', estimators } },
  });
  const http = directFixture(createAccountApi(fixture.accounts), () => Math.floor(fixture.clock.now() / 1000));
  async function subscribe(channel: string, target: string) {
    const body = await proof(channel, target, NOTIFICATION_TYPES);
    const answer = await http.send('POST', `/accounts/${ALICES}/subscriptions`, { body });
    assert.equal(answer.status, 201, answer.text);
    return answer.json() as Record<string, string>;
  }
  for (const recipient of Object.values(recipients)) await recipient.subscribe({ subscribe, http });

  const orders = await produceAll(fixture, () => {
    isPoor = true;
  });
  const listed = (await http.send('GET', `/accounts/${ALICES}/notifications`)).json() as Notification[];
  const { quoted, surplus } = computeSurplus(orders.price_improvement);
  const mails = mail.mails.map(readMail);
  for (const type of NOTIFICATION_TYPES) {
    const { words, amounts, subject, metadata } = createExpected(quoted, surplus)[type];
    const found = listed.filter((each) => each.type === type && each.metadata['orderUid'] === orders[type].uid);
    assert.equal(found.length, 1, `${type}: ${JSON.stringify(found)}`);
    const notification = found[0] as Notification; // its number is 1
    const { message, timestamp } = notification;
    assert.match(message, words);
    assert.deepEqual(readAmounts(message), amounts, message);
    for (const [name, value] of Object.entries(metadata)) assert.equal(notification.metadata[name], value, name);

    // A machine gets the same data, once.
    const isSame = (each: { content: unknown }) => (each.content as Notification).id === notification.id;
    for (const { taken } of [webhook, push])
      assert.deepEqual(
        taken.filter(isSame).map(({ content }) => content),
        [notification],
      );
    // A person gets the same sentence, once.
    const isSentence = ({ content }: { content: unknown }) => content === message;
    assert.equal(bot.taken.filter(isSentence).length, 1, `${message} over Telegram`);
    const isMail = (each: { text: string }) =>
      each.text.startsWith(`${message}\n`) && each.text.includes(orders[type].uid);
    const [read, ...repeated] = mails.filter(isMail);
    assert.ok(read !== undefined && repeated.length === 0, `${message} by mail`);
    assert.equal(read.subject, subject);
    assert.ok(
      read.text.includes(
        `Account: ${ALICES}\nOrder: ${orders[type].uid}\nChain: sepolia (11155111)\nTime: ${timestamp}\n`,
      ),
      read.text,
    );
  }

  // The history has the same fills in atoms. What was reverted is not in it.
  const csv = await http.send('GET', `/accounts/${ALICES}/trades`, { headers: { accept: 'text/csv' } });
  const [header = '', ...lines] = csv.text.trim().split('\r\n');
  const columns = ['sellAmount', 'buyAmount'].map((name) => header.split(',').indexOf(name));
  const rows = lines.map((line) => columns.map((column) => BigInt(line.split(',')[column] ?? '')));
  assert.deepEqual(new Set(rows.map(String)), new Set([`${SOLD},${BOUGHT}`, `${SOLD / 4n},${BOUGHT / 4n}`]));
  assert.deepEqual(fixture.failures, []);
});
