import { DeadlineError, type DeadlineLimiter } from '../concurrency/abort.ts';
import type { ChainClient, Funds, FundsQuery } from '../ports/chain-client.ts';
import type { Address } from '../protocol/hex.ts';
import type { SellTokenSource } from '../protocol/order.ts';

/** The spendable amounts of owners. */
export type Funding = ReturnType<typeof createFunding>;

/** An owner, a token, and the place of its balance. Orders share the query of their funds. */
export interface FundingQuery extends FundsQuery {
  readonly source: SellTokenSource;
}

/** Pairs per query. */
const CHUNK_SIZE = 100;

/** Maximum number of concurrent queries. */
const MAX_CONCURRENT = 4;

/** Maximum number of pairs that are read concurrently for a query, if the chain client reads one pair at a time. */
const MAX_SINGLE = 10;

/** Creates the reader of spendable amounts. */
export function createFunding(
  chain: ChainClient,
  remote: DeadlineLimiter,
  settlementContract: Address,
  onFailure: (failure: unknown) => void,
) {
  let previous: ReadonlyMap<FundingQuery, bigint> = new Map();

  /** Reads the funds of queries of one kind. Funds of the vault are unknown if the chain client cannot read them. */
  async function readFunds(queries: readonly FundingQuery[]): Promise<readonly (Funds | undefined)[]> {
    return remote.run(settlementContract, async (signal) => {
      const isErc20 = queries[0]?.source === 'erc20';
      if (isErc20 && chain.balancesAndAllowances !== undefined) return chain.balancesAndAllowances(queries, { signal });
      const funds: (Funds | undefined)[] = [];
      for (let i = 0; i < queries.length; i += MAX_SINGLE) {
        const reads = queries.slice(i, i + MAX_SINGLE).map(async ({ source, ...query }) => {
          if (source === 'erc20') return chain.balanceAndAllowance?.(query, { signal });
          return chain.vaultFunds?.({ ...query, source }, { signal });
        });
        funds.push(...(await Promise.all(reads)));
      }
      return funds;
    });
  }

  function toChunks(queries: readonly FundingQuery[]): FundingQuery[][] {
    const kinds = [
      queries.filter(({ source }) => source === 'erc20'),
      queries.filter(({ source }) => source !== 'erc20'),
    ];
    return kinds.flatMap((kind) =>
      Array.from({ length: Math.ceil(kind.length / CHUNK_SIZE) }, (_, i) =>
        kind.slice(i * CHUNK_SIZE, (i + 1) * CHUNK_SIZE),
      ),
    );
  }

  return {
    /**
     * Reads the spendable amount, the lesser of balance and allowance, of distinct pairs of owner and token.
     *
     * @returns atoms by query. If a query fails, the previous amount of its pairs is used. After a timeout this
     * applies to all remaining pairs, so that an auction does not wait for the timeout of each query.
     */
    async find(queries: readonly FundingQuery[]): Promise<ReadonlyMap<FundingQuery, bigint>> {
      const amounts = new Map<FundingQuery, bigint>();
      const chunks = toChunks(queries);
      let isLate = false;
      const keepPrevious = (chunk: readonly FundingQuery[]) => {
        for (const query of chunk) {
          const before = previous.get(query);
          if (before !== undefined) amounts.set(query, before);
        }
      };
      const worker = async () => {
        for (let chunk = chunks.shift(); chunk !== undefined; chunk = chunks.shift()) {
          if (isLate) {
            keepPrevious(chunk);
            continue;
          }
          try {
            const funds = await readFunds(chunk);
            if (funds.length !== chunk.length) throw new Error('the chain client returned an incomplete result');
            for (const [i, result] of funds.entries()) {
              const query = chunk[i];
              if (query !== undefined && result !== undefined)
                amounts.set(query, lesser(result.balance, result.allowance));
            }
          } catch (failure) {
            onFailure(failure);
            isLate ||= failure instanceof DeadlineError;
            keepPrevious(chunk);
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
