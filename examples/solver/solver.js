import { realpathSync } from 'node:fs';
import { createSandbox } from 'intentbook/sandbox';

const remaining = (order) => BigInt(order.sellAmount) - BigInt(order.executedAmount ?? 0);

/** Returns whether two orders exchange the same tokens in opposite directions. */
const isOpposite = (a, b) => a.sellToken === b.buyToken && a.buyToken === b.sellToken;

/**
 * Returns clearing prices that satisfy both orders, or undefined. Order `a` gets its limit price, and `b` the rest. Both
 * are sold completely, so the amounts must fit.
 */
function clear(a, b) {
  const [sellA, sellB] = [remaining(a), remaining(b)];
  const isFair = sellB >= BigInt(a.buyAmount) && sellA >= BigInt(b.buyAmount);
  // One atom of a's token is exchanged for sellB / sellA atoms of b's token.
  return isFair ? { [a.sellToken]: sellB, [b.sellToken]: sellA } : undefined;
}

/** A solver engine that matches pairs of opposite sell orders directly, without liquidity. */
export const matchingEngine = {
  name: 'matching engine',
  async solve({ orders }) {
    const solutions = [];
    const used = new Set();
    const sells = orders.filter(({ kind }) => kind === 'sell');
    for (const a of sells) {
      for (const b of sells) {
        if (a === b || used.has(a.uid) || used.has(b.uid) || !isOpposite(a, b)) continue;
        const prices = clear(a, b);
        if (prices === undefined) continue;
        used.add(a.uid).add(b.uid);
        const fills = [a, b].map((order) => ({ order, executed: remaining(order) }));
        solutions.push({ prices, fills, interactions: [] });
      }
    }
    return solutions;
  },
};

/** Starts a sandbox whose orders are settled by the solver engine. */
export function openSandbox(options = {}) {
  return createSandbox({ chain: 'simulated', solverEngine: matchingEngine, ...options });
}

if (import.meta.filename === realpathSync(process.argv[1] ?? '')) {
  const sandbox = await openSandbox({ port: 8080 });
  console.log(`${sandbox.url} settles pairs of opposite orders`);
}
