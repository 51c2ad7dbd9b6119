import type { DeadlineLimiter } from '../concurrency/abort.ts';
import type { ChainClient } from '../ports/chain-client.ts';
import type { Hex } from '../protocol/hex.ts';
import type { AuctionCandidate } from './auction-order.ts';

/** The signatures of contracts, which may stop being valid while an order is open. */
export type SignatureChecks = ReturnType<typeof createSignatureChecks>;

export interface SignatureChecksContext {
  readonly chain: ChainClient;
  readonly remote: DeadlineLimiter;
  /** Number of orders that are checked for each auction. */
  readonly budget: number;
  /** Called after the result of an order has changed. */
  readonly onChange: () => void;
  readonly onFailure: (failure: unknown) => void;
}

/** Creates the checks. They begin without results: each order was checked when it was submitted. */
export function createSignatureChecks({ chain, remote, budget, onChange, onFailure }: SignatureChecksContext) {
  /** The number of the last check by order. */
  let checked = new Map<Hex, number>();
  const invalid = new Set<Hex>();
  let checks = 0;
  let isRunning = false;

  async function check({ order: { uid }, signatureQuery }: AuctionCandidate): Promise<boolean> {
    if (signatureQuery === undefined) return false;
    const result = await remote.run(signatureQuery.owner, async (signal) =>
      chain.isValidSignature?.(signatureQuery, { signal }),
    );
    if (typeof result?.valid !== 'boolean' || result.valid !== invalid.has(uid)) return false;
    if (result.valid) invalid.delete(uid);
    else invalid.add(uid);
    return true;
  }

  async function checkAll(next: readonly AuctionCandidate[]): Promise<void> {
    isRunning = true;
    const results = await Promise.allSettled(next.map(check));
    isRunning = false;
    const failure = results.find(({ status }) => status === 'rejected') as PromiseRejectedResult | undefined;
    if (failure !== undefined) onFailure(failure.reason); // one failure of the chain is that of many orders
    if (results.some((result) => result.status === 'fulfilled' && result.value)) onChange();
  }

  return {
    /**
     * Returns the orders whose contract has rejected their signature at its last check. Then it begins to check the
     * orders that were not checked for longest, so that an auction does not wait for the chain.
     */
    findInvalid(candidates: readonly AuctionCandidate[]): ReadonlySet<Hex> {
      const signed = candidates.filter(({ signatureQuery }) => signatureQuery !== undefined);
      const last = ({ order }: AuctionCandidate) => checked.get(order.uid) ?? 0;
      checked = new Map(signed.map((each) => [each.order.uid, last(each)]));
      for (const uid of invalid) if (!checked.has(uid)) invalid.delete(uid);
      if (!isRunning && signed.length > 0) {
        const next = [...signed].sort((a, b) => last(a) - last(b)).slice(0, budget);
        for (const { order } of next) checked.set(order.uid, ++checks);
        void checkAll(next);
      }
      return new Set(invalid);
    },
  };
}
