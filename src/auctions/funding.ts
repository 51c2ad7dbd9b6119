import type { DeadlineLimiter } from '../concurrency/deadline.ts';
import type { ChainClient, Funds, FundsQuery } from '../ports/chain-client.ts';
import type { Address } from '../protocol/hex.ts';

/** What an owner can pay with a token. */
export interface Funding {
  /**
   * Finds out what owners have and have allowed of tokens, each pair once.
   *
   * @returns atoms by `fundsKey`; a pair that nobody could ask about has what was known of it before, if anything.
   */
  find(queries: readonly FundsQuery[]): Promise<ReadonlyMap<string, bigint>>;
}

export const fundsKey = ({ owner, token }: Pick<FundsQuery, 'owner' | 'token'>) => `${owner} ${token}`;

/** Pairs that are asked about in one question. */
const CHUNK = 100;

/** Questions under way at once. */
const AT_ONCE = 4;

export function createFunding(
  chain: ChainClient,
  remote: DeadlineLimiter,
  settlementContract: Address,
  onFailure: (failure: unknown) => void,
): Funding {
  let known: ReadonlyMap<string, bigint> = new Map();

  async function ask(queries: readonly FundsQuery[]): Promise<readonly Funds[]> {
    return remote.run(settlementContract, async (signal) => {
      if (chain.balancesAndAllowances !== undefined) return chain.balancesAndAllowances(queries, { signal });
      const funds: Funds[] = [];
      for (const query of queries) {
        const found = await chain.balanceAndAllowance?.(query, { signal });
        if (found !== undefined) funds.push(found);
      }
      return funds;
    });
  }

  return {
    async find(queries) {
      const wanted = [...new Map(queries.map((query) => [fundsKey(query), query])).values()];
      const found = new Map<string, bigint>();
      const chunks: FundsQuery[][] = [];
      for (let i = 0; i < wanted.length; i += CHUNK) chunks.push(wanted.slice(i, i + CHUNK));
      const worker = async () => {
        for (let chunk = chunks.shift(); chunk !== undefined; chunk = chunks.shift()) {
          try {
            const funds = await ask(chunk);
            for (const [i, { balance, allowance }] of funds.entries()) {
              const query = chunk[i];
              if (query !== undefined) found.set(fundsKey(query), lesser(balance, allowance));
            }
          } catch (failure) {
            onFailure(failure);
            for (const key of chunk.map(fundsKey)) {
              const before = known.get(key);
              if (before !== undefined) found.set(key, before);
            }
          }
        }
      };
      await Promise.all(Array.from({ length: AT_ONCE }, worker));
      known = found;
      return found;
    },
  };
}

function lesser(a: bigint, b: bigint): bigint {
  if (a < b) return a;
  return b;
}
