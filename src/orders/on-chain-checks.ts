import { checkGas } from '../admission/checks.ts';
import { type CheckQueue, createQueueFullError } from '../admission/policy.ts';
import type { VerifiedOrder } from '../admission/verified-order.ts';
import { AbortedError, DeadlineError, QueueFullError } from '../concurrency/abort.ts';
import { OrderBookError } from '../errors.ts';
import type { ChainCall, ChainClient, Funds, Simulation } from '../ports/chain-client.ts';
import { type Hex, parseHex, unpackUid } from '../protocol/hex.ts';
import type { Rules } from '../protocol/profile.ts';
import { type AdmissionContext, getCheckQueue, type RemoteCheck } from './admission.ts';

/** A chain query that returns a rejection or `undefined`. */
interface OnChainCheck {
  readonly check: 'balanceAndAllowance' | 'vaultFunds' | 'isValidSignature' | 'simulate';
  run(call: ChainCall): Promise<OrderBookError | undefined>;
}

/**
 * Checks contract signature, balance and allowance on chain, concurrently. See docs/internals/decisions.md#d2-13.
 *
 * If several checks fail, the rejection with the highest precedence is returned: `InvalidSignature` or `TooMuchGas`,
 * `InsufficientBalance`, `InsufficientAllowance`, `TransferSimulationFailed`, then the retryable ones,
 * `ChainUnavailable` and `RateLimited`.
 */
export const checkOnChain: RemoteCheck = async (candidate, context, submission) => {
  const { chain } = context;
  if (chain === undefined) return undefined;
  const checks = [createSignatureCheck(candidate, chain, context), createFundsCheck(candidate, chain, context)].filter(
    (check) => check !== undefined,
  );
  const queue = getCheckQueue(candidate, context, submission);
  const decided = new AbortController();
  const rejections = await Promise.all(
    checks.map(async (check, i) => {
      const rejection = await runCheck(check, queue, context, decided.signal);
      // A rejection of the first check has the highest precedence, so the other checks can be cancelled.
      if (i === 0 && rejection !== undefined && !rejection.retryable) decided.abort(rejection);
      return rejection;
    }),
  );
  return rejections.find((rejection) => rejection && !rejection.retryable) ?? rejections.find(Boolean);
};

async function runCheck(
  { check, run }: OnChainCheck,
  { queue, ...options }: CheckQueue,
  { remote, onFailure }: AdmissionContext,
  cancelled: AbortSignal,
): Promise<OrderBookError | undefined> {
  try {
    return await remote.run(queue, (signal) => run({ signal }), { ...options, cancelled });
  } catch (failure) {
    if (cancelled.aborted) return undefined; // another check has rejected the order
    if (failure instanceof AbortedError) throw failure;
    if (failure instanceof QueueFullError) return createQueueFullError();
    onFailure(failure);
    const reason = failure instanceof DeadlineError ? 'timeout' : 'failure';
    const description = reason === 'timeout' ? 'the chain check timed out' : 'the chain check failed';
    return new OrderBookError('ChainUnavailable', `${description}; nothing was stored`, { check, reason });
  }
}

/** Creates the check that the owner's contract accepts the signature. */
function createSignatureCheck(
  candidate: VerifiedOrder,
  chain: ChainClient,
  context: AdmissionContext,
): OnChainCheck | undefined {
  const { creation, owner, uid, signature, interactions, document } = candidate;
  const { signingScheme: scheme } = creation;
  if (scheme !== 'eip1271' || chain.isValidSignature === undefined) return undefined;
  const { digest } = unpackUid(uid);
  const { flashloan } = document.content;
  return {
    check: 'isValidSignature',
    async run(call) {
      const query = { owner, digest, signature, pre: interactions.pre, flashloan };
      const result = await chain.isValidSignature?.(query, call);
      if (result?.valid === true) return checkGas(document.content.hooks, context.limits, result.gas);
      if (result?.valid !== false) throw new TypeError('the result of isValidSignature must have a boolean `valid`');
      const { reason } = result;
      const description = `the contract ${owner} rejects this signature${reason ? `: ${reason}` : ''}`;
      const details = { scheme, expected: owner, digest, ...(reason === undefined ? {} : { reason }) };
      return new OrderBookError('InvalidSignature', description, details, 'contract');
    },
  };
}

/**
 * Creates the check of the owner's balance and allowance. It is skipped for:
 * - presign orders, which may be funded until they are signed;
 * - orders whose wrappers provide the funds.
 *
 * With pre-hooks or a flash loan, only the state after them counts, so they are simulated. Without a simulation, values
 * that they can change are not checked: hooks can set an allowance, a flash loan can also provide the balance. Balances
 * of the vault, or that the vault moves, cannot be simulated.
 */
function createFundsCheck(
  candidate: VerifiedOrder,
  chain: ChainClient,
  { vaultRelayer, rules }: AdmissionContext,
): OnChainCheck | undefined {
  const { creation, data, owner, interactions, document } = candidate;
  const { flashloan, wrappers } = document.content;
  if (creation.signingScheme === 'presign' || wrappers.length > 0) return undefined;
  const { sellToken: token, sellTokenBalance: source } = data;
  const amount = getRequiredBalance(candidate, rules);
  const query = { owner, token, spender: vaultRelayer };
  const prepared = interactions.pre.length > 0 || flashloan !== undefined;
  const { simulate, balanceAndAllowance, vaultFunds } = chain;

  if (prepared && simulate !== undefined && source === 'erc20') {
    return {
      check: 'simulate',
      async run(call) {
        const simulation = { ...query, amount, pre: interactions.pre, flashloan };
        const result = assertSimulation(await simulate.call(chain, simulation, call));
        const rejection = checkFunds(result, amount, candidate, query, rules);
        if (rejection !== undefined || result.balance < amount || result.transferRevert === undefined) return rejection;
        return createTransferError(query, result.transferRevert);
      },
    };
  }
  const readFunds =
    source === 'erc20' ? balanceAndAllowance?.bind(chain, query) : vaultFunds?.bind(chain, { ...query, source });
  if (flashloan !== undefined || readFunds === undefined) return undefined;
  return {
    check: source === 'erc20' ? 'balanceAndAllowance' : 'vaultFunds',
    async run(call) {
      const funds = assertFunds(await readFunds(call));
      if (funds === undefined) return createTransferError(query);
      return prepared ? checkBalance(funds, amount, query) : checkFunds(funds, amount, candidate, query, rules);
    },
  };
}

/** Returns the balance that an order requires, in atoms of the sell token. */
function getRequiredBalance({ creation, data }: VerifiedOrder, { balance: rule }: Rules): bigint {
  const full = creation.fullBalanceCheck || (rule === 'full' && !data.partiallyFillable);
  return full ? data.sellAmount + data.feeAmount : 1n;
}

/**
 * Checks balance and allowance. By the rule `minimum`, an order without any balance is accepted if the allowance covers
 * its whole sell amount, unless it requests the full check.
 */
function checkFunds(
  funds: Funds,
  amount: bigint,
  { creation, data }: VerifiedOrder,
  query: FundsSubject,
  { balance: rule }: Rules,
): OrderBookError | undefined {
  const lenient = rule === 'minimum' && !creation.fullBalanceCheck;
  if (lenient && funds.balance < amount && funds.allowance >= data.sellAmount) return undefined;
  return checkBalance(funds, amount, query) ?? checkAllowance(funds, amount, query);
}

type FundsSubject = Parameters<NonNullable<ChainClient['balanceAndAllowance']>>[0];

function checkBalance(
  { balance }: Funds,
  required: bigint,
  { owner, token }: FundsSubject,
): OrderBookError | undefined {
  if (balance >= required) return undefined;
  const numbers = { token, owner, required: required.toString(), available: balance.toString() };
  const description = `the owner has ${balance} of the sell token, ${required} are required`;
  return new OrderBookError('InsufficientBalance', description, numbers);
}

function checkAllowance({ allowance }: Funds, required: bigint, query: FundsSubject): OrderBookError | undefined {
  if (allowance >= required) return undefined;
  const { owner, token, spender } = query;
  const numbers = { token, owner, spender, required: required.toString(), available: allowance.toString() };
  const description = `the owner allows ${spender} to move ${allowance} of the sell token, ${required} are required`;
  return new OrderBookError('InsufficientAllowance', description, numbers);
}

/** Creates the rejection of a token that cannot be transferred now, or whose amounts cannot be read. */
function createTransferError({ owner, token }: FundsSubject, revertData?: Hex): OrderBookError {
  return new OrderBookError('TransferSimulationFailed', undefined, { token, owner, revertData });
}

/** Validates the result of a chain adapter. An invalid result is a chain failure, not a rejection of the order. */
function assertFunds<F extends Funds | undefined>(funds: F): F {
  if (funds === undefined || (isAmount(funds.balance) && isAmount(funds.allowance))) return funds;
  throw new TypeError('the balance and allowance of the chain adapter must be non-negative bigints');
}

function assertSimulation(simulation: Simulation): Simulation {
  const { transferRevert } = assertFunds(simulation);
  if (transferRevert === undefined || parseHex(transferRevert) !== undefined) return simulation;
  throw new TypeError('the transferRevert of the chain adapter must be hex text');
}

function isAmount(value: unknown): boolean {
  return typeof value === 'bigint' && value >= 0n;
}
