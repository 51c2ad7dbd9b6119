import type { Address, Hex, InteractionData } from 'intentbook';
import { bytes, encodeCall, word } from '#internal';
import type { TradeRoute } from './route.ts';

/** Selectors of `transfer(address,uint256)` and of `swap(uint256,uint256,address,bytes)` (UniswapV2Pair.sol). */
const TRANSFER: Hex = '0xa9059cbb';
const SWAP: Hex = '0x022c0d9f';

/**
 * Returns the calls with which a contract trades along a route: a transfer to the first pair, then a swap of each pair,
 * which pays to the next pair and at last to the contract.
 *
 * @returns `undefined` if the address of a pair is unknown.
 */
export function createSwapCalls({ path, hops }: TradeRoute, contract: Address): InteractionData[] | undefined {
  const pairs = hops.flatMap(({ pool: { pair } }) => pair ?? []);
  const [first, token] = [pairs[0], path[0]];
  if (pairs.length !== hops.length || first === undefined || token === undefined) return undefined;
  const calls = [toCall(token, encodeCall(TRANSFER, [word(first), word(hops[0]?.sold ?? 0n)]))];
  for (const [i, { bought }] of hops.entries()) {
    const [from, to] = path.slice(i, i + 2);
    // A pair sorts its tokens by address (UniswapV2Factory.sol, `createPair`).
    const amounts = (from ?? '') < (to ?? '') ? [0n, bought] : [bought, 0n];
    const data = encodeCall(SWAP, [...amounts.map(word), word(pairs[i + 1] ?? contract), bytes('0x')]);
    calls.push(toCall(pairs[i] ?? contract, data));
  }
  return calls;
}

function toCall(target: Address, callData: Hex): InteractionData {
  return { target, value: '0', callData };
}
