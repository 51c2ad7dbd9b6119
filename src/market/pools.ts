import * as z from 'zod/mini';
import { AccountError } from '../account-tools/account-error.ts';
import type { AccountTools } from '../account-tools/account-tools.ts';
import { createSourceCache } from '../account-tools/source-cache.ts';
import { OrderBookError } from '../errors.ts';
import type { PoolSource, PoolYield } from '../ports/pools.ts';
import { type Address, parseHex } from '../protocol/hex.ts';
import { hexSchema, parseShape } from '../protocol/shape.ts';
import { requireAddress, requireList } from '../validation/options.ts';
import { requireChainId } from '../validation/parameters.ts';

/** Pool methods. */
export interface PoolApi {
  /**
   * Returns the pools of a chain with the given addresses, or without addresses the 500 largest ones by value. Rejects
   * with `InvalidParameter` for an invalid chain id or address; with an `AccountError` of status 400 for more than 500
   * addresses, of status 503 if there is no source or if all sources fail.
   */
  list(chainId: number, addresses?: readonly Address[]): Promise<readonly PoolYield[]>;
  /** Returns the mean yield of each project in percent, rounded to 6 decimals. Rejects like `list`. */
  averageApr(chainId: number): Promise<Readonly<Record<string, number>>>;
}

/** Maximum number of addresses, and of pools in a response. */
export const MAX_POOLS = 500;

/** Milliseconds for which the pools of a chain are cached. */
const TTL = 600_000;

/** Maximum number of chains with cached pools. */
const MAX_CHAINS = 100;

/** Time limit per source, in milliseconds. */
const TIMEOUT = 10_000;

export const poolAddresses = /* @__PURE__ */ (() =>
  z.array(hexSchema(20)).check(z.maxLength(MAX_POOLS, { error: `must have 0 to ${MAX_POOLS} addresses` })))();

/** Parses the body of a request for pools. @throws OrderBookError `InvalidParameter`. */
export function parsePoolAddresses(body: unknown): readonly Address[] {
  const parsed = parseShape(poolAddresses, body, 'InvalidParameter');
  if (parsed instanceof OrderBookError) throw parsed;
  return parsed;
}

/** Creates the pool methods. @throws TypeError if the sources are invalid. */
export function createPools(tools: AccountTools, sources: readonly PoolSource[]): PoolApi {
  const { clock, onFailure, observer, assertStarted } = tools;
  if (!Array.isArray(sources) || sources.some((source) => typeof source?.pools !== 'function')) {
    throw new TypeError('createAccounts: pools must be a list of sources');
  }
  /** Chains of which a source has failed in the last query. The first source begins a query. */
  const failed = new Set<number>();
  const cache = createSourceCache<number, readonly PoolYield[]>({
    sources: sources.map((source: PoolSource, i) => ({
      name: source.name,
      async read(chainId, call) {
        if (i === 0) failed.delete(chainId);
        return selectPools(await source.pools(chainId, call), onFailure);
      },
      onFailure(chainId, cause) {
        failed.add(chainId);
        onFailure(cause);
      },
    })),
    key: String,
    ttl: TTL,
    maxEntries: MAX_CHAINS,
    timeout: TIMEOUT,
    clock,
    subject: 'pools',
    observer,
  });

  async function readPools(chainId: number): Promise<readonly PoolYield[]> {
    requireChainId(chainId);
    if (sources.length === 0) throw new AccountError(503, 'Pools are not available on this server');
    assertStarted();
    const found = await cache.get(chainId);
    if (found === undefined && failed.has(chainId)) throw new AccountError(503, 'Pools are not available right now', 1);
    return found?.value ?? [];
  }

  return {
    async list(chainId, addresses = []) {
      if (requireList('addresses', addresses).length > MAX_POOLS) {
        throw new AccountError(400, `At most ${MAX_POOLS} pool addresses are allowed`);
      }
      const wanted = new Set(addresses.map((address) => requireAddress('addresses', address)));
      const pools = await readPools(chainId);
      if (wanted.size === 0) return [...pools].sort((a, b) => b.tvl - a.tvl).slice(0, MAX_POOLS);
      return pools.filter(({ address }) => wanted.has(address)).slice(0, MAX_POOLS);
    },
    async averageApr(chainId) {
      const sums = new Map<string, { sum: number; count: number }>();
      for (const { project, apr } of await readPools(chainId)) {
        const { sum, count } = sums.get(project) ?? { sum: 0, count: 0 };
        sums.set(project, { sum: sum + apr, count: count + 1 });
      }
      return Object.fromEntries([...sums].map(([project, { sum, count }]) => [project, roundToMicros(sum / count)]));
    },
  };
}

const roundToMicros = (value: number) => Math.round(value * 1e6) / 1e6;

/**
 * Returns the valid pools of a source. The others are reported: one of them would hide all.
 *
 * @throws TypeError if the result is not a list, or has malformed pools only.
 */
function selectPools(
  pools: readonly PoolYield[] | undefined,
  report: (failure: unknown) => void,
): readonly PoolYield[] | undefined {
  if (pools === undefined) return undefined;
  if (!Array.isArray(pools)) throw new TypeError('pools must be a list');
  const valid = pools.flatMap((pool: unknown) => parsePool(pool) ?? []);
  const malformed = pools.length - valid.length;
  if (malformed === 0) return valid;
  const error = new TypeError(`${malformed} pools have a malformed address, project or number`);
  if (valid.length === 0) throw error;
  report(error);
  return valid;
}

function parsePool(pool: unknown): PoolYield | undefined {
  const {
    address: text,
    tokens,
    project,
    apr,
    fee,
    tvl,
    volume,
  } = Object(pool) as { [K in keyof PoolYield]?: unknown };
  const address = parseHex(text, 20);
  const isAmount = (value: unknown): value is number => isNumber(value) && value >= 0;
  if (address === undefined || typeof project !== 'string' || !isNumber(apr)) return undefined;
  if (!isAmount(fee) || !isAmount(tvl) || !isAmount(volume)) return undefined;
  const [first, second] = Array.isArray(tokens) ? tokens.map((token) => parseHex(token, 20)) : [];
  const pair = first === undefined || second === undefined ? {} : { tokens: [first, second] as const };
  return { address, ...pair, project, apr, fee, tvl, volume };
}

/** Largest number of a pool, in dollars or percent. A larger one is a fault of the source, and would distort means. */
const MAX_NUMBER = 1e15;

const isNumber = (value: unknown): value is number => Number.isFinite(value) && Math.abs(Number(value)) <= MAX_NUMBER;
