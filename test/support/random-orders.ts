import type { Sandbox, Trader } from 'intentbook/sandbox';
import { appDataDocument } from 'intentbook/sign';
import type { Hex } from 'viem';
import { createPublicClient, http, parseAbi } from 'viem';
import { expectedFees } from './protocol-fees.ts';

const EVENTS = parseAbi([
  'event Trade(address indexed owner, address sellToken, address buyToken, uint256 sellAmount, uint256 buyAmount, uint256 feeAmount, bytes orderUid)',
]);

/** Prices in native currency of whole tokens, near which the limit prices are chosen. */
const PRICES: Readonly<Record<string, number>> = { WETH: 1, ETH: 1, USDC: 0.0004, DAI: 0.0004, COW: 0.0001 };

const SELL_TOKENS = ['WETH', 'USDC', 'DAI', 'COW'];

const WEALTH = { WETH: '100000', USDC: '200000000', DAI: '200000000', COW: '900000000' };

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

/** Random orders of a sandbox, and a check of what became of them on chain. */
export interface RandomOrders {
  /** A number from 0 up and below 1. */
  readonly random: () => number;
  /** Places a random order: any kind, scheme and direction. */
  place(): Promise<Hex>;
  /** Cancels an order by a signature. */
  cancel(uid: Hex): Promise<void>;
  /** Moves the prices of the pools to where the limit prices are. */
  movePrices(): Promise<void>;
  /** Reads the chain: settlements that reverted, and trades outside the signed limits. */
  check(): Promise<{
    readonly reverted: readonly Hex[];
    readonly violations: readonly string[];
    readonly trades: number;
    /** Trades with a protocol fee. */
    readonly fees: number;
  }>;
}

interface SignedOrder {
  readonly trader: Trader;
  readonly sellAmount: bigint;
  readonly buyAmount: bigint;
  readonly kind: 'sell' | 'buy';
  readonly partial: boolean;
  /** Share of the volume that is the partner fee. */
  readonly fee: number | undefined;
}

/** Creates eleven funded owners and places their orders. */
export async function createRandomOrders(sandbox: Sandbox, seed: number): Promise<RandomOrders> {
  const random = randomNumbers(seed);
  const pick = <T>(values: readonly T[]) => values[Math.floor(random() * values.length)] as T; // never empty
  const accounts = await Promise.all(Array.from({ length: 8 }, () => sandbox.createTrader(WEALTH)));
  const wallets = await Promise.all(Array.from({ length: 3 }, () => sandbox.createSmartWallet(WEALTH)));
  const signed = new Map<string, SignedOrder>();

  async function place(): Promise<Hex> {
    const trader: Trader = random() < 0.25 ? pick(wallets) : pick(accounts);
    const sell = pick(SELL_TOKENS);
    const isDifferent = (symbol: string) => PRICES[symbol] !== PRICES[sell] || (symbol !== sell && sell !== 'WETH');
    const buy = pick(['WETH', 'ETH', 'USDC', 'DAI', 'COW'].filter(isDifferent));
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
    const hooks = random() < 0.15 ? { hooks: pick([{ pre: [hook] }, { post: [hook] }]) } : {};
    const volumeBps = random() < 0.4 ? 1 + Math.floor(random() * 60) : 0;
    const recipient = '0x00000000000000000000000000000000000fee00';
    const fees = volumeBps === 0 ? {} : { metadata: { partnerFee: { volumeBps, recipient } } };
    const appData = appDataDocument({ ...hooks, ...fees });
    const terms = { sell: [amount(sell, size), sell], buy: [amount(buy, size * margin), buy], kind } as const;
    const validFor = 3600 + Math.floor(random() * 80_000);
    const body = trader.createOrder(terms, { scheme, partiallyFillable, appData, validFor });
    const result = await sandbox.book.orders.submit(body);
    if (result.status === 'rejected') throw result.error;
    if (scheme === 'presign') await trader.presign(result.uid);
    const [sellAmount, buyAmount] = [BigInt(body.sellAmount), BigInt(body.buyAmount)];
    const fee = volumeBps === 0 ? undefined : volumeBps / 10_000;
    signed.set(result.uid, { trader, sellAmount, buyAmount, kind, partial: partiallyFillable, fee });
    return result.uid;
  }

  async function check() {
    const { trades, reverted } = await readChain(sandbox);
    const executed = new Map<string, { sold: bigint; bought: bigint }>();
    const violations: string[] = [];
    let fees = 0;
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
      fees += await checkFees(uid, violations);
      const stored = await sandbox.book.orders.get(uid);
      const isEqual = stored?.executedSellAmount === String(sold) && stored.executedBuyAmount === String(bought);
      if (!isEqual) violations.push(`${uid}: the book has other amounts than the chain`);
    }
    return { reverted, violations, trades: trades.length, fees };
  }

  /** Compares the fees of the trades of an order with exact fractions. Returns the number of trades with a fee. */
  async function checkFees(uid: Hex | string, violations: string[]): Promise<number> {
    const order = signed.get(uid);
    if (order?.fee === undefined) return 0;
    const { kind, sellAmount, buyAmount } = order;
    const trades = await sandbox.book.trades.list({ orderUid: uid });
    for (const trade of trades) {
      const amounts = { sold: BigInt(trade.sellAmount), bought: BigInt(trade.buyAmount) };
      const expected = expectedFees({ kind, sellAmount, buyAmount, ...amounts }, [{ volume: { factor: order.fee } }]);
      const actual = trade.executedProtocolFees.map(({ amount }) => amount).join();
      if (actual !== expected.join()) violations.push(`${uid}: the fee is ${actual}, expected ${expected.join()}`);
    }
    return trades.length;
  }

  return {
    random,
    place,
    check,
    async cancel(uid) {
      await signed.get(uid)?.trader.cancel(uid);
    },
    async movePrices() {
      for (const symbol of ['USDC', 'DAI', 'COW'])
        await sandbox.setPrice(symbol, String((PRICES[symbol] ?? 1) * (0.98 + 0.04 * random())));
    },
  };
}

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
