import type { Address, Hex, QuoteVerification, QuoteVerifier, VerificationOutcome } from 'intentbook';
import { bytes, encodeCall, word } from '#internal';
import { createBalanceSlots, toWord } from './balance-slots.ts';
import { ALLOW_ALL, simulateSequence } from './call-sequence.ts';
import { getLoanOverride, joinOverrides, type StateOverrides } from './flashloan.ts';
import { callRpc, NodeError, parseHexResult, type RpcClient, requireClient } from './rpc.ts';
import type { BlockCall, BlockCallResult, SingleSettlement } from './settlement.ts';
import {
  createAuthorizations,
  createCall,
  encodeSingleSettlement,
  SETTLE_GAS,
  SOLVER,
  simulateBlock,
} from './settlement.ts';

const SELECTORS = {
  setPreSignature: '0xec6cb13f',
  approve: '0x095ea7b3',
  balanceOf: '0x70a08231',
} as const satisfies Record<string, Hex>;

const UNLIMITED = 2n ** 256n - 1n;

/** Gas limit of all calls together. */
const SEQUENCE_GAS = 30_000_000;

/**
 * Creates a verifier of quotes on a node (`eth_simulateV1`). In one simulated block, the owner approves the relayer and
 * signs on chain, then a solver settles. A node without this method receives one `eth_call` with state overrides, in
 * which the owner's code is replaced. The node needs `eth_createAccessList` as well, because an override of the state
 * provides sell tokens that the owner does not have.
 *
 * @param client - A `PublicClient`. Its transport controls retries.
 */
export function viemQuoteVerifier(client: RpcClient): QuoteVerifier {
  requireClient('viemQuoteVerifier', client);
  const slots = createBalanceSlots(client);
  const authorize = createAuthorizations(client);

  /** Returns the override that gives the owner the sold tokens, unless the balance is sufficient, and the loan. */
  async function fund({ order, owner, flashloan }: QuoteVerification, signal: AbortSignal) {
    const { sellToken, sellAmount } = order;
    const data: Hex = `${SELECTORS.balanceOf}${toWord(BigInt(owner)).slice(2)}`;
    const result = parseHexResult(await callRpc(client, signal, 'eth_call', [{ to: sellToken, data }, 'latest']));
    const loan = await getLoanOverride(slots, flashloan, signal);
    if (result.length >= 66 && BigInt(result.slice(0, 66)) >= sellAmount) return loan;
    const slot = await slots.find(sellToken, owner, signal);
    if (slot === undefined) return 'unknown';
    return joinOverrides(loan, { [slot.contract]: { stateDiff: { [slot.key]: toWord(sellAmount) } } });
  }

  async function simulate(
    quote: QuoteVerification,
    authorization: BlockCall,
    override: StateOverrides,
    signal: AbortSignal,
  ): Promise<readonly BlockCallResult[]> {
    const calls = createCalls(quote);
    try {
      return await simulateBlock(client, [authorization, ...calls], override, signal);
    } catch (error) {
      // Not remembered: of several nodes, the one that lacks the method may have replaced another one for a while.
      if (!(error instanceof NodeError && error.unsupported)) throw error;
    }
    const stateOverrides = { ...override, [authorization.to]: { code: ALLOW_ALL } };
    const { owner: caller, txOrigin: origin } = quote;
    return simulateSequence(client, { caller, origin, calls, stateOverrides, gas: SEQUENCE_GAS }, signal);
  }

  return {
    async verify(quote, { signal }) {
      try {
        const [authorization, override] = await Promise.all([
          authorize(quote.settlementContract, signal, { solver: quote.txOrigin ?? SOLVER }),
          fund(quote, signal),
        ]);
        if (override === 'unknown') return { status: 'failed', reason: 'the balance of the sell token is not found' };
        return readOutcome(quote, await simulate(quote, authorization, override, signal));
      } catch (error) {
        if (error instanceof NodeError && error.unsupported) return { status: 'unsupported' };
        throw error;
      }
    },
  };
}

/** Positions of the calls from the end of the simulated block. */
const FROM_END = { soldBefore: -5, boughtBefore: -4, settle: -3, soldAfter: -2, boughtAfter: -1 } as const;

function createCalls(quote: QuoteVerification): BlockCall[] {
  const { order, owner, uid, settlementContract: settlement, vaultRelayer } = quote;
  const approve = (amount: bigint) => encodeCall(SELECTORS.approve, [word(vaultRelayer), word(amount)]);
  const balance = (token: Address) => createCall(SOLVER, token, encodeCall(SELECTORS.balanceOf, [word(settlement)]));
  const balances = [balance(order.sellToken), balance(order.buyToken)];
  return [
    // Some tokens reject a change of an allowance that is not zero.
    createCall(owner, order.sellToken, approve(0n)),
    createCall(owner, order.sellToken, approve(UNLIMITED)),
    createCall(owner, settlement, encodeCall(SELECTORS.setPreSignature, [bytes(uid), word(1n)])),
    ...balances,
    createCall(quote.txOrigin ?? SOLVER, settlement, encodeSingleSettlement(toSettlement(quote)), SETTLE_GAS),
    ...balances,
  ];
}

/** Returns a settlement at prices that give the owner exactly the estimated amount. */
function toSettlement(quote: QuoteVerification): SingleSettlement {
  const { order, owner, interactions, jitOrders } = quote;
  const executed = order.kind === 'sell' ? order.sellAmount : order.buyAmount;
  const hooks = { ...quote.hooks, pre: [...quote.hooks.pre, ...quote.preInteractions] };
  return { order, owner, signingScheme: 'presign', signature: '0x', executed, interactions, jitOrders, hooks };
}

/**
 * Compares the balances of the settlement contract before and after the settlement. An amount that the interactions
 * bought beyond the estimate is added to them, and a missing amount was taken from them.
 */
function readOutcome({ order }: QuoteVerification, results: readonly BlockCallResult[]): VerificationOutcome {
  const settlement = results.at(FROM_END.settle);
  if (settlement === undefined || !settlement.success) return { status: 'failed', reason: 'the settlement reverts' };
  const read = (at: number) => BigInt(results.at(at)?.data.slice(0, 66).padEnd(66, '0') ?? '0x0');
  const sold = read(FROM_END.soldAfter) - read(FROM_END.soldBefore);
  const bought = read(FROM_END.boughtAfter) - read(FROM_END.boughtBefore);
  const [surplus, spent] = order.kind === 'sell' ? [bought, sold] : [sold, bought];
  if (spent < 0n) return { status: 'failed', reason: 'the settlement spends tokens of the settlement contract' };
  const amount = order.kind === 'sell' ? order.buyAmount + surplus : order.sellAmount - surplus;
  if (amount <= 0n) return { status: 'failed', reason: 'the interactions yield nothing' };
  return { status: 'verified', amount, gas: settlement.gas };
}
