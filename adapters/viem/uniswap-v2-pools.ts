import type { Address, Hex, PoolSource, PoolYield, TokenInfo } from 'intentbook';
import {
  assertKnownOptions,
  encodeCall,
  parseAddress,
  requireChainOption,
  requireFunction,
  requireInteger,
  word,
} from '#internal';
import { boundedCalls } from './bounded-calls.ts';
import type { RpcClient } from './rpc.ts';
import { callRpc, list, parseHexResult, parseQuantity, record, requireClient, toQuantity } from './rpc.ts';
import { readTokensInfo } from './token-info.ts';

/** Options of the pools of a Uniswap V2 factory. */
export interface UniswapV2PoolsOptions {
  /** Chain id of the node (EIP-155). */
  readonly chainId: number;
  /** The factory of the pairs. */
  readonly factory: string;
  /** Tokens whose pairs are read, 2 to 32. */
  readonly tokens: readonly string[];
  /** Returns US dollars for one whole token, `undefined` if the price is unknown. */
  readonly usdPrice: (token: Address, signal: AbortSignal) => Promise<number | undefined>;
  /** Name of the protocol. Default: `Uniswap V2`. */
  readonly project?: string;
  /** Fee of a trade in percent. Default: 0.3. */
  readonly fee?: number;
  /** Maximum number of blocks whose trades are read. A shorter period is scaled to a day. Default: 10000. */
  readonly maxBlocks?: number;
}

/** `getPair(address,address)` of the factory, `getReserves()` of a pair. */
const GET_PAIR = '0xe6a43905';
const GET_RESERVES = '0x0902f1ac';

/** `Swap(address,uint256,uint256,uint256,uint256,address)` of a pair. */
const SWAP: Hex = '0xd78ad95fa46c994b6551d0da85fc275fe613ce37657fb8d5e3d130840159d822';

/** Gas limit of each read. */
const GAS = 200_000;

/** Blocks that are read in one query of logs. */
const BLOCKS_PER_QUERY = 2_000;

const MAX_TOKENS = 32;
const DAY = 86_400;
const DAYS_PER_YEAR = 365;

interface Pair {
  readonly address: Address;
  readonly tokens: readonly [Address, Address];
}

/**
 * Creates a source of the pools of a Uniswap V2 factory, or of a compatible one, on the chain of a node. Value and
 * volume are computed from reserves and `Swap` events. The yield is the fees of a day for a year, relative to the
 * value. A pair without a known price of both tokens is left out. The source fails if no price is known.
 *
 * @throws TypeError if an option is unknown or malformed.
 */
export function uniswapV2Pools(client: RpcClient, options: UniswapV2PoolsOptions): PoolSource {
  requireClient('uniswapV2Pools', client);
  const { chainId, usdPrice, project, fee, maxBlocks, factory, tokens } = parseOptions(options);

  async function findPairs(signal: AbortSignal): Promise<Pair[]> {
    // A pair sorts its tokens by address (UniswapV2Factory.sol, `createPair`).
    const candidates = tokens.flatMap((token, i) => tokens.slice(i + 1).map((other) => [token, other] as const));
    const calls = candidates.map(([token, other]): { to: Address; data: Hex; gas: number } => {
      return { to: factory, data: encodeCall(GET_PAIR, [word(token), word(other)]), gas: GAS };
    });
    const results = await boundedCalls(client, calls, signal);
    return candidates.flatMap((pair, i) => {
      const result = results[i]?.success === true && results[i].size === 32 ? results[i].word : undefined;
      const address: Address = `0x${(result ?? '').slice(26)}`;
      return result === undefined || BigInt(result) === 0n ? [] : [{ address, tokens: pair }];
    });
  }

  async function readReserves(pairs: readonly Pair[], signal: AbortSignal): Promise<[bigint, bigint][]> {
    const calls = pairs.map(({ address: to }) => ({ to, data: GET_RESERVES as Hex, gas: GAS })); // a selector
    const results = await boundedCalls(client, calls, signal, 64);
    return results.map(({ success, size, data }) => (success && size >= 64 ? readAmounts(data, 2) : [0n, 0n])) as [
      bigint,
      bigint,
    ][]; // two amounts each
  }

  /** Returns the amounts that each pair has received, and the seconds in which it has. */
  async function readTrades(pairs: readonly Pair[], signal: AbortSignal) {
    const head = await readBlock(client, 'latest', signal);
    const from = await findFirstBlock(head, signal);
    const received = new Map<Address, [bigint, bigint]>();
    for (let first = from.number; first <= head.number; first += BLOCKS_PER_QUERY) {
      const last = Math.min(head.number, first + BLOCKS_PER_QUERY - 1);
      const filter = { address: pairs.map(({ address }) => address), topics: [SWAP] };
      const range = { fromBlock: toQuantity(first), toBlock: toQuantity(last) };
      for (const log of list(await callRpc(client, signal, 'eth_getLogs', [{ ...filter, ...range }]))) {
        const { address: text, data } = record(log);
        const address = parseHexResult(text, 20);
        const [in0 = 0n, in1 = 0n] = readAmounts(parseHexResult(data, 128), 2);
        const [sum0, sum1] = received.get(address) ?? [0n, 0n];
        received.set(address, [sum0 + in0, sum1 + in1]);
      }
    }
    // A limited number of blocks may be shorter than a day.
    const isLimited = from.number > 0 && from.number === head.number - maxBlocks + 1;
    return { received, seconds: isLimited ? Math.max(1, head.timestamp - from.timestamp) : DAY };
  }

  /** Searches the first block of the last day, at most `maxBlocks` before the newest one. */
  async function findFirstBlock(head: Block, signal: AbortSignal): Promise<Block> {
    let low = Math.max(0, head.number - maxBlocks + 1);
    let high = head.number;
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      const { timestamp } = await readBlock(client, toQuantity(middle), signal);
      if (timestamp < head.timestamp - DAY) low = middle + 1;
      else high = middle;
    }
    return readBlock(client, toQuantity(low), signal);
  }

  async function readPrices(pairs: readonly Pair[], signal: AbortSignal): Promise<(token: Address) => number> {
    const used = [...new Set(pairs.flatMap((pair) => pair.tokens))];
    const infos: readonly (TokenInfo | undefined)[] = await readTokensInfo(client, used, signal);
    const prices = await Promise.all(used.map((token) => usdPrice(token, signal)));
    // An empty list would be cached as the pools of the chain.
    if (prices.every((price) => price === undefined)) throw new Error('the price of no token is known');
    // The price of one atom. A token without decimals or price has none.
    const ofAtom = used.map((token, i) => [
      token,
      (prices[i] ?? Number.NaN) / 10 ** (infos[i]?.decimals ?? Number.NaN),
    ]);
    const byToken = new Map(ofAtom as [Address, number][]); // a token and a number each
    return (token) => byToken.get(token) ?? Number.NaN;
  }

  return {
    name: `${project} on chain ${chainId}`,
    async pools(wanted, { signal }) {
      if (wanted !== chainId) return undefined;
      const pairs = await findPairs(signal);
      if (pairs.length === 0) return [];
      const [reserves, trades, priceOf] = await Promise.all([
        readReserves(pairs, signal),
        readTrades(pairs, signal),
        readPrices(pairs, signal),
      ]);
      return pairs.flatMap(({ address, tokens }, i): PoolYield[] => {
        const [token0, token1] = tokens;
        const value = ([amount0, amount1]: readonly [bigint, bigint]) =>
          Number(amount0) * priceOf(token0) + Number(amount1) * priceOf(token1);
        const tvl = value(reserves[i] ?? [0n, 0n]);
        const volume = (value(trades.received.get(address) ?? [0n, 0n]) * DAY) / trades.seconds;
        const apr = (volume * fee * DAYS_PER_YEAR) / tvl;
        return Number.isFinite(apr) ? [{ address, tokens, project, apr, fee, tvl, volume }] : [];
      });
    },
  };
}

function parseOptions(options: UniswapV2PoolsOptions) {
  assertKnownOptions('uniswapV2Pools', options, OPTIONS);
  const { chainId, usdPrice, project = 'Uniswap V2', fee = 0.3, maxBlocks = 10_000 } = options;
  const parse = (name: string, text: string) => parseAddress('uniswapV2Pools', name, text);
  requireChainOption('uniswapV2Pools: chainId', chainId);
  requireFunction('uniswapV2Pools: usdPrice', usdPrice);
  if (typeof fee !== 'number' || !(fee >= 0 && fee <= 100)) {
    throw new TypeError(`uniswapV2Pools: fee must be a number from 0 to 100, got ${fee}`);
  }
  if (!Array.isArray(options.tokens)) {
    throw new TypeError(`uniswapV2Pools: tokens must be a list, got ${String(options.tokens)}`);
  }
  const factory = parse('factory', options.factory);
  const tokens = [...new Set(options.tokens.map((token: string) => parse('tokens', token)))].sort();
  if (tokens.length < 2 || tokens.length > MAX_TOKENS) {
    throw new TypeError(`uniswapV2Pools: tokens must have 2 to ${MAX_TOKENS} addresses, got ${tokens.length}`);
  }
  requireInteger(`uniswapV2Pools: maxBlocks`, maxBlocks, 1);
  return { chainId, usdPrice, project, fee, maxBlocks, factory, tokens };
}

const OPTIONS = ['chainId', 'factory', 'tokens', 'usdPrice', 'project', 'fee', 'maxBlocks'] as const;

interface Block {
  readonly number: number;
  /** Seconds since 1970. */
  readonly timestamp: number;
}

async function readBlock(client: RpcClient, number: string, signal: AbortSignal): Promise<Block> {
  const block = record(await callRpc(client, signal, 'eth_getBlockByNumber', [number, false]));
  return { number: parseQuantity(block['number']), timestamp: parseQuantity(block['timestamp']) };
}

function readAmounts(data: Hex, count: number): bigint[] {
  return Array.from({ length: count }, (_, i) => BigInt(`0x${data.slice(2 + 64 * i, 66 + 64 * i)}`));
}
