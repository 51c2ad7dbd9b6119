import type { DeadlineLimiter } from '../concurrency/deadline.ts';
import type { ChainClient, Funds, FundsQuery } from '../ports/chain-client.ts';
import type { Address } from '../protocol/hex.ts';

/** The spendable amounts of owners. */
export interface Funding {
  /**
   * Reads the spendable amount, the lesser of balance and allowance, of distinct pairs of owner and token.
   *
   * @returns atoms by `fundsKey`. If a query fails, the previous amount of its pairs is used.
   */
  find(queries: readonly FundsQuery[]): Promise<ReadonlyMap<string, bigint>>;
}

export const fundsKey = ({ owner, token }: Pick<FundsQuery, 'owner' | 'token'>) => `${owner} ${token}`;

/** Pairs per query. */
const CHUNK_SIZE = 100;

/** Maximum number of concurrent queries. */
const MAX_CONCURRENT = 4;

/** Creates the reader of spendable amounts. */
export function createFunding(
  chain: ChainClient,
  remote: DeadlineLimiter,
  settlementContract: Address,
  onFailure: (failure: unknown) => void,
): Funding {
  let previous: ReadonlyMap<string, bigint> = new Map();

  async function readFunds(queries: readonly FundsQuery[]): Promise<readonly Funds[]> {
    return remote.run(settlementContract, async (signal) => {
      if (chain.balancesAndAllowances !== undefined) return chain.balancesAndAllowances(queries, { signal });
      const funds: Funds[] = [];
      for (const query of queries) {
        const result = await chain.balanceAndAllowance?.(query, { signal });
        if (result !== undefined) funds.push(result);
      }
      return funds;
    });
  }

  return {
    async find(queries) {
      const amounts = new Map<string, bigint>();
      let next = 0;
      const worker = async () => {
        for (let at = next; at < queries.length; at = next) {
          next = at + CHUNK_SIZE;
          const chunk = queries.slice(at, next);
          try {
            const funds = await readFunds(chunk);
            for (const [i, { balance, allowance }] of funds.entries()) {
              const query = chunk[i];
              if (query !== undefined) amounts.set(fundsKey(query), lesser(balance, allowance));
            }
          } catch (failure) {
            onFailure(failure);
            for (const key of chunk.map(fundsKey)) {
              const before = previous.get(key);
              if (before !== undefined) amounts.set(key, before);
            }
          }
        }
      };
      await Promise.all(Array.from({ length: MAX_CONCURRENT }, worker));
      previous = amounts;
      return amounts;
    },
  };
}

function lesser(a: bigint, b: bigint): bigint {
  if (a < b) return a;
  return b;
}
