import { realpathSync } from 'node:fs';
import { createClient, RequestError } from 'intentbook/client';
import { appDataDocument, limitOrder, orderTypedData, orderUid, signingDomain } from 'intentbook/sign';

/** Prices are atoms of the quote token for 10^18 atoms of the base token. */
const SCALE = 10n ** 18n;
const BPS = 10_000n;

/** Returns the price of an order of the pair. */
function priceOf(order, base) {
  const isOffer = order.sellToken === base;
  const [baseAmount, quoteAmount] = isOffer ? [order.sellAmount, order.buyAmount] : [order.buyAmount, order.sellAmount];
  return (BigInt(quoteAmount) * SCALE) / BigInt(baseAmount);
}

/** Returns the middle of the best bid and the best offer of other accounts; undefined if a side is empty. */
export function middleOf(orders, base, account) {
  let [bid, offer] = [undefined, undefined];
  for (const order of orders) {
    if (order.owner === account) continue;
    const price = priceOf(order, base);
    if (order.sellToken === base) offer = offer === undefined || price < offer ? price : offer;
    else bid = bid === undefined || price > bid ? price : bid;
  }
  return bid === undefined || offer === undefined ? undefined : (bid + offer) / 2n;
}

/**
 * Starts a market maker. It keeps one order to sell and one to buy `size` atoms of `base`.
 *
 * @param fallback - The middle while one side of the book is empty.
 * @param spreadBps - Distance of each order from the middle. A smaller move of the middle replaces no order.
 */
export async function startMarketMaker({ url, chainId, settlementContract, wallet, base, quote, size, ...options }) {
  const { spreadBps = 30n, fallback, validFor = 600, onError = console.error } = options;
  const client = createClient(url);
  const domain = signingDomain({ chainId, settlementContract });
  const account = wallet.address.toLowerCase();
  const mirror = await client.mirror({ pair: [base, quote] });
  const isOpen = (side) => side.uid !== undefined && mirror.orders.has(side.uid);
  const sides = [
    { sells: base, distance: spreadBps },
    { sells: quote, distance: -spreadBps },
  ];

  async function submit(side, middle, replaces) {
    const quoteAmount = (((middle * (BPS + side.distance)) / BPS) * size) / SCALE;
    const order = limitOrder({
      sellToken: side.sells,
      buyToken: side.sells === base ? quote : base,
      sellAmount: side.sells === base ? size : quoteAmount,
      buyAmount: side.sells === base ? quoteAmount : size,
      kind: side.sells === base ? 'sell' : 'buy',
      validTo: Math.floor(Date.now() / 1000) + validFor,
      appData: appDataDocument({ appCode: 'market maker', ...(replaces === undefined ? {} : { replaces }) }),
    });
    const data = orderTypedData(domain, order);
    const signature = await wallet.signTypedData(data);
    const body = { ...order, from: account, signature, signingScheme: 'eip712' };
    side.sent = { uid: orderUid(data, account), middle, body };
    await send(side);
  }

  /** Sends the order of a side, which is sent again until its result is known: the book stores it once. */
  async function send(side) {
    const { uid, middle, body } = side.sent;
    await client.submit(body).catch((error) => {
      const isRejected = error instanceof RequestError && !error.retryable;
      if (isRejected) side.sent = undefined;
      if (!isRejected || error.code !== 'DuplicatedOrder') throw error;
    });
    Object.assign(side, { uid, middle, sent: undefined });
  }

  /** Places or replaces an order. The replaced order may have been filled in the meantime. */
  async function place(side, middle) {
    const replaced = isOpen(side) ? side.uid : undefined;
    try {
      await submit(side, middle, replaced);
    } catch (error) {
      if (side.sent !== undefined || replaced === undefined) throw error;
      // The replacement is repeated: two open orders would trade twice the size.
      if ((await client.get(replaced))?.status === 'open') throw error;
      await submit(side, middle, undefined);
    }
  }

  async function requote() {
    const middle = middleOf(mirror.orders.values(), base, account) ?? fallback;
    const hasMoved = (from) => (middle < from ? from - middle : middle - from) * BPS > from * spreadBps;
    for (const side of sides) {
      if (side.sent !== undefined) await send(side);
      // The mirror contains an order when the stream has reported it.
      while (side.uid && !isOpen(side) && (await client.get(side.uid))?.status === 'open') await nextChange();
      if (!isOpen(side) || hasMoved(side.middle)) await place(side, middle);
    }
  }

  const waiting = [];
  const nextChange = () => new Promise((resolve) => void waiting.push(resolve));
  const wake = () => {
    for (const resolve of waiting.splice(0)) resolve();
  };
  mirror.onChange(wake);
  // A failed attempt is repeated, although the book may not have changed.
  const timer = setInterval(wake, 1000);
  let closed = false;
  const loop = (async () => {
    while (!closed) {
      const change = nextChange();
      await requote().catch(onError);
      if (!closed) await change;
    }
  })();

  return {
    /** The UIDs of the current orders: the one that sells `base`, then the one that buys it. */
    uids: () => sides.map(({ uid }) => uid),
    /** Stops to quote. Open orders remain until they expire or are cancelled. */
    async close() {
      closed = true;
      wake();
      await loop; // a step of it may wait for the timer
      clearInterval(timer);
      mirror.close();
    },
  };
}

if (import.meta.filename === realpathSync(process.argv[1] ?? '')) {
  const { createSandbox } = await import('intentbook/sandbox');
  const { privateKeyToAccount } = await import('viem/accounts');
  const sandbox = await createSandbox({ chain: 'simulated', port: 8080 });
  const { privateKey } = await sandbox.createTrader({ WETH: '100', USDC: '250000' });
  await startMarketMaker({
    ...sandbox,
    wallet: privateKeyToAccount(privateKey),
    base: sandbox.token('WETH').address,
    quote: sandbox.token('USDC').address,
    size: 10n ** 18n,
    fallback: 2500n * 10n ** BigInt(sandbox.token('USDC').decimals),
  });
  console.log(`${sandbox.url} quotes WETH / USDC`);
}
