import { withDeadline } from '../concurrency/abort.ts';
import { type Clock, readMonotonic } from '../ports/clock.ts';
import type { JitOrder } from '../ports/estimator.ts';
import type { QuoteVerifier, VerificationOutcome } from '../ports/quote-verifier.ts';
import { type Address, bytesToHex, packUid, ZERO_ADDRESS } from '../protocol/hex.ts';
import type { OrderData, OrderHasher } from '../protocol/order.ts';
import { assertFunctions } from '../validation/options.ts';
import type { ValidatedEstimate } from './estimate-validation.ts';
import { type GasCost, getFixedAmount, isAmount } from './fee.ts';
import type { Prepared } from './prepare.ts';
import { createQuoteCandidate, isBetterCandidate, type QuoteCandidate } from './quote-candidate.ts';

export interface VerificationContext {
  readonly verifier: QuoteVerifier;
  readonly clock: Clock;
  readonly hasher: OrderHasher;
  readonly settlementContract: Address;
  readonly vaultRelayer: Address;
  readonly onFailure: (failure: unknown) => void;
}

/** Simulates estimates for requests. Estimates are unverified before. */
export type EstimateVerification = ReturnType<typeof createEstimateVerification>;

/** Number of estimates of a request that are simulated, the best first. */
const MAX_SIMULATED = 3;

/** Maximum duration of a simulation, in milliseconds. */
const TIMEOUT = 2_000;

/** Time that remains for simulations after the deadline of the estimators, in milliseconds. */
const GRACE = 500;

/**
 * The owner in simulations of requests whose `from` is the zero address, or the settlement contract: what that pays to
 * itself cannot be distinguished from its own balance.
 */
const STAND_IN: Address = '0x00000000000000000000000000000000c0ffee01';

/**
 * Creates the verification of estimates.
 *
 * @throws TypeError if the verifier has no function `verify`.
 */
export function createEstimateVerification(context: VerificationContext) {
  const { verifier, clock, hasher, settlementContract, vaultRelayer, onFailure } = context;
  assertFunctions('createOrderBook: quotes.verifier', verifier, ['verify']);
  const simulated = new WeakMap<ValidatedEstimate, Map<string, Promise<ValidatedEstimate>>>();

  async function simulate(prepared: Prepared, estimate: ValidatedEstimate): Promise<ValidatedEstimate> {
    const { interactions, preInteractions = [], jitOrders = [], txOrigin } = estimate;
    if (interactions === undefined || !jitOrders.every((each) => isOfTrade(each, prepared))) return estimate;
    const { from } = prepared.request;
    const owner = from === ZERO_ADDRESS || from === settlementContract ? STAND_IN : from;
    const order = toOrder(prepared, estimate);
    const uid = packUid({ digest: bytesToHex(hasher.digest(order)), owner, validTo: order.validTo });
    const { hooks, flashloan } = prepared;
    const route = { interactions, preInteractions, jitOrders, txOrigin };
    const quote = { order, uid, owner, settlementContract, vaultRelayer, hooks, flashloan, ...route };
    try {
      const outcome = await withDeadline(clock, TIMEOUT, (signal) => verifier.verify(quote, { signal }));
      return outcome.status === 'verified' ? toObserved(prepared, estimate, outcome) : estimate;
    } catch (failure) {
      onFailure(failure);
      return estimate;
    }
  }

  /**
   * Starts to simulate an estimate, unless this was done before. Fulfilled with the observed estimate, or with the
   * unverified one if the simulation fails.
   */
  function verify(prepared: Prepared, estimate: ValidatedEstimate): Promise<ValidatedEstimate> {
    const { request, appDataHash } = prepared;
    const key = [request.from, request.receiver, appDataHash].join(' ');
    const results = simulated.get(estimate) ?? new Map<string, Promise<ValidatedEstimate>>();
    simulated.set(estimate, results);
    const running = results.get(key) ?? simulate(prepared, estimate);
    results.set(key, running);
    return running;
  }

  return {
    verify,
    /**
     * Returns the best candidate among the simulated ones. Without one: the best of all, unverified.
     *
     * @param until - The deadline of the request, in milliseconds of `readMonotonic`.
     */
    async choose(
      prepared: Prepared,
      estimates: readonly ValidatedEstimate[],
      cost: GasCost,
      until: number,
    ): Promise<QuoteCandidate | undefined> {
      const ranked = rank(prepared, estimates, cost);
      const limit = Math.max(until - readMonotonic(clock), GRACE);
      const results = await Promise.all(
        ranked.map(({ estimate }, i) => {
          if (i >= MAX_SIMULATED) return estimate;
          return withDeadline(clock, limit, () => verify(prepared, estimate)).catch(() => estimate);
        }),
      );
      const candidates = rank(prepared, results, cost);
      return candidates.find(({ estimate }) => estimate.verified) ?? candidates[0];
    },
  };
}

/**
 * Returns whether an order of a solver exchanges the tokens of the trade. Others could spend tokens of the contract.
 */
function isOfTrade({ sellToken, buyToken }: JitOrder, { trade }: Prepared): boolean {
  const tokens: readonly Address[] = [trade.sellToken, trade.buyToken];
  return tokens.includes(sellToken) && tokens.includes(buyToken);
}

/** Returns the candidates, the best first. */
function rank(prepared: Prepared, estimates: readonly ValidatedEstimate[], cost: GasCost): QuoteCandidate[] {
  const candidates = estimates.flatMap((estimate) => createQuoteCandidate(prepared, estimate, cost) ?? []);
  return candidates.sort((a, b) => (isBetterCandidate(a, b) ? -1 : isBetterCandidate(b, a) ? 1 : 0));
}

/** Returns the order that would be signed for the whole fixed amount. */
function toOrder({ request, trade, validTo, appDataHash }: Prepared, { amount }: ValidatedEstimate): OrderData {
  const fixed = getFixedAmount(request.side);
  const [sellAmount, buyAmount] = trade.kind === 'sell' ? [fixed, amount] : [amount, fixed];
  return {
    sellToken: trade.sellToken,
    buyToken: trade.buyToken,
    receiver: request.receiver,
    sellAmount,
    buyAmount,
    validTo,
    appData: appDataHash,
    feeAmount: 0n,
    kind: trade.kind,
    partiallyFillable: false,
    sellTokenBalance: 'erc20',
    buyTokenBalance: 'erc20',
  };
}

/** Returns an estimate with the observed amount and gas. The gas of hooks is charged separately. */
function toObserved(
  { hooks }: Prepared,
  estimate: ValidatedEstimate,
  { amount, gas }: Extract<VerificationOutcome, { status: 'verified' }>,
): ValidatedEstimate {
  if (!isAmount(amount) || !Number.isSafeInteger(gas) || gas <= 0) return estimate;
  const hasHooks = hooks.pre.length + hooks.post.length > 0;
  return { ...estimate, amount, gas: hasHooks ? estimate.gas : BigInt(gas), verified: true };
}
