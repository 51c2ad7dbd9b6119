import { DeadlineError } from '../concurrency/deadline.ts';
import { OrderBookError } from '../errors.ts';
import type { ChainCall, ChainClient, Funds, Simulation } from '../ports/chain-client.ts';
import { parseHex } from '../protocol/hex.ts';
import { unpackUid } from '../protocol/uid.ts';
import type { AdmissionContext, RemoteCheck } from './admission.ts';
import type { VerifiedOrder } from './verified-order.ts';

/** A question to the chain, with what its answer means. */
interface RemoteQuestion {
  readonly check: 'balanceAndAllowance' | 'isValidSignature' | 'simulate';
  ask(call: ChainCall): Promise<OrderBookError | undefined>;
}

/**
 * What only the chain knows: contract signature, balance and allowance, asked for at once (decisions 2.7 and 2.13).
 *
 * Several rejections are reported by this precedence: `InvalidSignature`, `InsufficientBalance`, `InsufficientAllowance`,
 * `TransferSimulationFailed`, and only then `ChainUnavailable`, since waiting would not mend the others.
 */
export const checkOnChain: RemoteCheck = async (candidate, context) => {
  const { chain } = context;
  if (chain === undefined) return undefined;
  const questions = [signatureQuestion(candidate, chain), fundsQuestion(candidate, chain, context)];
  const asked = questions.filter((question) => question !== undefined);
  const enough = new AbortController();
  const rejections = await Promise.all(
    asked.map(async (question, i) => {
      const rejection = await answerTo(question, candidate, context, enough.signal);
      // Nothing outweighs a rejection of the first question, so the others need not be waited for.
      if (i === 0 && rejection !== undefined && rejection.code !== 'ChainUnavailable') enough.abort(rejection);
      return rejection;
    }),
  );
  return rejections.find((rejection) => rejection && rejection.code !== 'ChainUnavailable') ?? rejections.find(Boolean);
};

async function answerTo(
  { check, ask }: RemoteQuestion,
  { owner }: VerifiedOrder,
  { remote, onFailure }: AdmissionContext,
  cancelled: AbortSignal,
): Promise<OrderBookError | undefined> {
  try {
    return await remote.run(owner, (signal) => ask({ signal }), cancelled);
  } catch (failure) {
    if (cancelled.aborted) return undefined; // another question has decided
    onFailure(failure);
    const reason = failure instanceof DeadlineError ? 'timeout' : 'failure';
    const description = reason === 'timeout' ? 'the chain did not answer in time' : 'the chain could not be asked';
    return new OrderBookError('ChainUnavailable', `${description}; nothing was stored`, { check, reason });
  }
}

/** Whether the owner's contract calls the signature its own. */
function signatureQuestion(candidate: VerifiedOrder, chain: ChainClient): RemoteQuestion | undefined {
  const { creation, owner, uid, signature, interactions, document } = candidate;
  const { signingScheme: scheme } = creation;
  if (scheme !== 'eip1271' || chain.isValidSignature === undefined) return undefined;
  const { digest } = unpackUid(uid);
  const { flashloan } = document.content;
  return {
    check: 'isValidSignature',
    async ask(call) {
      const query = { owner, digest, signature, pre: interactions.pre, flashloan };
      const answer = await chain.isValidSignature?.(query, call);
      if (answer?.valid === true) return undefined;
      if (answer?.valid !== false) throw new TypeError('the chain adapter answered neither valid nor invalid');
      const { reason } = answer;
      const description = `the contract ${owner} does not call this signature its own${reason ? `: ${reason}` : ''}`;
      const help = { scheme, expected: owner, digest, ...(reason === undefined ? {} : { reason }) };
      return new OrderBookError('InvalidSignature', description, help);
    },
  };
}

/**
 * Whether the owner has the sell token and has allowed it to be moved. Not asked for presign orders, which may be funded
 * until they are signed; for balances inside the vault; and for orders whose wrappers bring the funds themselves. With
 * pre-hooks or a loan, only what comes after them counts, so that is simulated; where that is not possible, what they
 * may change is not judged: hooks may set an allowance, a loan may bring the balance too.
 */
function fundsQuestion(
  candidate: VerifiedOrder,
  chain: ChainClient,
  { vaultRelayer }: AdmissionContext,
): RemoteQuestion | undefined {
  const { creation, data, owner, interactions, document } = candidate;
  const { flashloan, wrappers } = document.content;
  if (creation.signingScheme === 'presign' || data.sellTokenBalance !== 'erc20' || wrappers.length > 0)
    return undefined;
  const full = creation.fullBalanceCheck || !data.partiallyFillable;
  const amount = full ? data.sellAmount + data.feeAmount : 1n;
  const query = { owner, token: data.sellToken, spender: vaultRelayer };
  const prepared = interactions.pre.length > 0 || flashloan !== undefined;
  const { simulate, balanceAndAllowance } = chain;

  if (prepared && simulate !== undefined) {
    return {
      check: 'simulate',
      async ask(call) {
        const question = { ...query, amount, pre: interactions.pre, flashloan };
        const found = requireSimulation(await simulate.call(chain, question, call));
        return tooLittle(found.balance, amount, query) ?? notAllowed(found, amount, query) ?? reverted(found, query);
      },
    };
  }
  if (flashloan !== undefined || balanceAndAllowance === undefined) return undefined;
  return {
    check: 'balanceAndAllowance',
    async ask(call) {
      const found = requireFunds(await balanceAndAllowance.call(chain, query, call));
      return tooLittle(found.balance, amount, query) ?? (prepared ? undefined : notAllowed(found, amount, query));
    },
  };
}

type Query = Parameters<NonNullable<ChainClient['balanceAndAllowance']>>[0];

function tooLittle(balance: bigint, required: bigint, { owner, token }: Query): OrderBookError | undefined {
  if (balance >= required) return undefined;
  const numbers = { token, owner, required: required.toString(), available: balance.toString() };
  const description = `the owner has ${balance} of the sell token, ${required} are required`;
  return new OrderBookError('InsufficientBalance', description, numbers);
}

function notAllowed({ allowance }: Funds, required: bigint, query: Query): OrderBookError | undefined {
  if (allowance >= required) return undefined;
  const { owner, token, spender } = query;
  const numbers = { token, owner, spender, required: required.toString(), available: allowance.toString() };
  const description = `the owner has allowed ${spender} to move ${allowance} of the sell token, ${required} are required`;
  return new OrderBookError('InsufficientAllowance', description, numbers);
}

function reverted({ transferRevert }: Simulation, { owner, token }: Query): OrderBookError | undefined {
  if (transferRevert === undefined) return undefined;
  return new OrderBookError('TransferSimulationFailed', undefined, { token, owner, revertData: transferRevert });
}

/** What an adapter answers comes from a node: nonsense is a failure of the chain, not a verdict on an order. */
function requireFunds<F extends Funds>(found: F): F {
  const { balance, allowance } = found;
  if (isAmount(balance) && isAmount(allowance)) return found;
  throw new TypeError('the chain adapter answered funds that are no amounts');
}

function requireSimulation(found: Simulation): Simulation {
  const { transferRevert } = requireFunds(found);
  if (transferRevert === undefined || parseHex(transferRevert) !== undefined) return found;
  throw new TypeError('the chain adapter answered revert data that is no hex text');
}

function isAmount(value: unknown): boolean {
  return typeof value === 'bigint' && value >= 0n;
}
