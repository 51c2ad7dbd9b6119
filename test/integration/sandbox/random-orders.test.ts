import type { Sandbox, Trader } from 'intentbook/sandbox';
import { createSandbox } from 'intentbook/sandbox';
import { appDataDocument } from 'intentbook/sign';
import type { Hex } from 'viem';
import { createPublicClient, http, parseAbi } from 'viem';
import { expect, it } from 'vitest';

/** Orders to settle. The long run has 10,000: `INTENTBOOK_SANDBOX_ORDERS=10000`. */
const ORDERS = Number(process.env['INTENTBOOK_SANDBOX_ORDERS'] ?? 120);
const SEED = Number(process.env['INTENTBOOK_SEED'] ?? 1);
const BATCH = ORDERS > 1000 ? 50 : 20;

const EVENTS = parseAbi([
  'event Trade(address indexed owner, address sellToken, address buyToken, uint256 sellAmount, uint256 buyAmount, uint256 feeAmount, bytes orderUid)',
]);

/** Prices in native currency of whole tokens, near which the limit prices are chosen. */
const PRICES: Readonly<Record<string, number>> = { WETH: 1, ETH: 1, USDC: 0.0004, DAI: 0.0004, COW: 0.0001 };

/** A generator of numbers from 0 up and below 1 (mulberry32). */
function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

it(`settles ${ORDERS} random orders within their limits, without a reverted settlement (seed ${SEED})`, async () => {
  await using sandbox = await createSandbox({ solver: 'manual' });
  const random = randomNumbers(SEED);
  const pick = <T>(values: readonly T[]) => values[Math.floor(random() * values.length)] as T; // never empty
  const wealth = { WETH: '100000', USDC: '200000000', DAI: '200000000', COW: '900000000' };
  const accounts = await Promise.all(Array.from({ length: 8 }, () => sandbox.createTrader(wealth)));
  const wallets = await Promise.all(Array.from({ length: 3 }, () => sandbox.createSmartWallet(wealth)));
  const signed = new Map<string, { sellAmount: bigint; buyAmount: bigint; kind: string; partial: boolean }>();

  async function place(): Promise<void> {
    const trader: Trader = random() < 0.25 ? pick(wallets) : pick(accounts);
    const sell = pick(['WETH', 'USDC', 'DAI', 'COW']);
    const buy = pick(
      ['WETH', 'ETH', 'USDC', 'DAI', 'COW'].filter(
        (symbol) => PRICES[symbol] !== PRICES[sell] || (symbol !== sell && sell !== 'WETH'),
      ),
    );
    const size = 0.01 * 1000 ** random();
    const margin = 1 - 0.06 * random() + (random() < 0.1 ? 0.02 : 0);
    const amount = (symbol: string, value: number) => (value / (PRICES[symbol] ?? 1)).toFixed(6);
    const kind = pick(['sell', 'buy'] as const);
    const partiallyFillable = random() < 0.3;
    const scheme = pick(
      wallets.includes(trader)
        ? (['eip1271', 'presign'] as const)
        : (['eip712', 'ethsign', 'eip712', 'presign'] as const),
    );
    const hook = { target: sandbox.token('DAI').address, callData: '0x18160ddd', gasLimit: 40_000 };
    const appData = random() < 0.15 ? appDataDocument({ hooks: pick([{ pre: [hook] }, { post: [hook] }]) }) : '{}';
    const terms = { sell: [amount(sell, size), sell], for: [amount(buy, size * margin), buy], kind } as const;
    const body = trader.createOrder(terms, {
      scheme,
      partiallyFillable,
      appData,
      validFor: 3600 + Math.floor(random() * 80_000),
    });
    const result = await sandbox.book.orders.submit(body);
    if (result.status === 'rejected') throw result.error;
    if (scheme === 'presign') await trader.presign(result.uid);
    signed.set(result.uid, {
      sellAmount: BigInt(body.sellAmount),
      buyAmount: BigInt(body.buyAmount),
      kind,
      partial: partiallyFillable,
    });
  }

  let fulfilled = 0;
  sandbox.book.on('orderTraded', ({ cause }) => {
    if (cause.trade.completes) fulfilled++;
  });
  while (fulfilled < ORDERS) {
    for (let i = 0; i < BATCH; i++) await place();
    await sandbox.settle();
    // A second auction settles what the first has left out.
    await sandbox.settle();
    // Prices return to where the limits are, so that the pools do not run away from them.
    for (const symbol of ['USDC', 'DAI', 'COW'])
      await sandbox.setPrice(symbol, String((PRICES[symbol] ?? 1) * (0.98 + 0.04 * random())));
  }

  const { trades, reverted } = await readChain(sandbox);
  expect(reverted).toEqual([]);
  const executed = new Map<string, { sold: bigint; bought: bigint }>();
  const violations = [];
  for (const { orderUid, sellAmount, buyAmount } of trades) {
    const order = signed.get(orderUid);
    if (order === undefined) throw new Error(`trade of an order that was not placed: ${orderUid}`);
    // One atom less for a purchase and one more for a sale is a better price, never a worse one.
    if (sellAmount * order.buyAmount > buyAmount * order.sellAmount) violations.push(orderUid);
    const before = executed.get(orderUid) ?? { sold: 0n, bought: 0n };
    executed.set(orderUid, { sold: before.sold + sellAmount, bought: before.bought + buyAmount });
  }
  for (const [uid, { sold, bought }] of executed) {
    const order = signed.get(uid);
    const [filled, total] = order?.kind === 'sell' ? [sold, order.sellAmount] : [bought, order?.buyAmount ?? 0n];
    if (filled > total || (order?.partial === false && filled !== total)) violations.push(uid);
    const stored = await sandbox.book.orders.get(uid);
    expect([stored?.executedSellAmount, stored?.executedBuyAmount]).toEqual([String(sold), String(bought)]);
  }
  expect(violations).toEqual([]);
  expect(sandbox.failures).toEqual([]);
});

/** Reads every trade, and every settlement that has reverted, from the node. */
async function readChain({ rpcUrl, settlementContract }: Sandbox) {
  const client = createPublicClient({ transport: http(rpcUrl) });
  const reverted: Hex[] = [];
  const head = await client.getBlockNumber();
  const trades: { orderUid: Hex; sellAmount: bigint; buyAmount: bigint }[] = [];
  const query = { address: settlementContract, abi: EVENTS, eventName: 'Trade' } as const;
  for (let fromBlock = 0n; fromBlock <= head; fromBlock += 500n) {
    const logs = await client.getContractEvents({ ...query, fromBlock, toBlock: fromBlock + 499n });
    trades.push(...logs.map(({ args }) => args as (typeof trades)[number])); // of the event
  }
  for (let number = 0n; number <= head; number++) {
    const receipts = await client.request({
      method: 'eth_getBlockReceipts' as never,
      params: [`0x${number.toString(16)}`] as never,
    });
    for (const { to, status, transactionHash } of receipts as { to: Hex; status: Hex; transactionHash: Hex }[]) {
      if (to?.toLowerCase() === settlementContract && status !== '0x1') reverted.push(transactionHash);
    }
  }
  return { trades, reverted };
}
