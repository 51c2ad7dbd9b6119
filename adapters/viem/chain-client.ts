import type {
  Address,
  ChainClient,
  ContractSignatureAnswer,
  ContractSignatureQuery,
  Domain,
  Funds,
  FundsQuery,
  Hex,
  Simulation,
  SimulationQuery,
} from 'intentbook';
import { assertKnownOptions, assertSameChain, NATIVE_MARKER } from '#internal';
import type { BoundedAnswer } from './bounded-calls.ts';
import { boundedCalls } from './bounded-calls.ts';
import { isValidSignatureData, signatureRejection, unwrap } from './contract-signature.ts';
import type { RpcClient } from './rpc.ts';
import { amount, callRpc, hex, quantity } from './rpc.ts';
import type { SimulatedAnswer, SimulatedCall } from './simulation.ts';
import { interactionCalls, simulateCalls } from './simulation.ts';
import { readTokenInfo } from './token-info.ts';

/** How nodes are asked about funds and contract signatures. */
export interface ViemChainOptions {
  /** The contract that makes an order's interactions. Default: the production one, the same on every known chain. */
  readonly settlementContract?: Address;
  /** Gas that a contract may use to judge a signature. Default 2000000. */
  readonly signatureGas?: number;
}

/** Gas that a token may use to tell a balance or an allowance. */
const READ_GAS = 1_000_000;

const PRODUCTION: Address = '0x9008d19f58aabd9ed0d60971565aa8510560ab41';

/**
 * Answers a book's questions through a client of viem, always on the newest block.
 *
 * Balance and allowance are read in one `eth_call`. A contract's signature is judged within a limit of gas, and 32 bytes of
 * the answer are read however long it is; a contract that is not there yet may come with its signature (ERC-6492). Orders
 * with pre-hooks are simulated by `eth_simulateV1`. Where a node does not know that method, hooks are left out: the
 * allowance, which hooks may set, is then not judged, and a contract's signature is judged without them. Loans are not
 * played: what a lender would bring is missing in the simulation.
 *
 * @param client a `PublicClient`, whose transport decides about retries.
 */
export function viemChain(client: RpcClient, options: ViemChainOptions = {}): ChainClient {
  assertKnownOptions('viemChain', options, ['settlementContract', 'signatureGas']);
  const { settlementContract = PRODUCTION, signatureGas = 2_000_000 } = options;

  async function readFunds(queries: readonly FundsQuery[], signal: AbortSignal): Promise<Funds[]> {
    const natives = queries.filter(({ token }) => token === NATIVE_MARKER);
    const tokens = queries.filter(({ token }) => token !== NATIVE_MARKER);
    const calls = tokens.flatMap(({ owner, token, spender }) => [
      { to: token, data: balanceOfData(owner), gas: READ_GAS },
      { to: token, data: allowanceData(owner, spender), gas: READ_GAS },
    ]);
    const answers = calls.length === 0 ? [] : await boundedCalls(client, calls, signal);
    const found = new Map<FundsQuery, Funds>();
    for (const [i, query] of tokens.entries()) {
      found.set(query, { balance: amountOf(answers[2 * i]), allowance: amountOf(answers[2 * i + 1]) });
    }
    for (const query of natives) {
      const balance = amount(await callRpc(client, signal, 'eth_getBalance', [query.owner, 'latest']));
      found.set(query, { balance, allowance: 0n });
    }
    return queries.flatMap((query) => found.get(query) ?? []);
  }

  async function readFundsOf(query: FundsQuery, signal: AbortSignal): Promise<Funds> {
    const [funds] = await readFunds([query], signal);
    if (funds === undefined) throw new TypeError('the node has lost an answer');
    return funds;
  }

  async function judge({ owner, digest, signature, pre }: ContractSignatureQuery, signal: AbortSignal) {
    const data = isValidSignatureData(digest, signature);
    if (pre.length > 0) {
      const simulated = await simulateSignature(owner, data, interactionCalls(settlementContract, pre), signal);
      if (simulated !== undefined) return simulated;
    }
    const [answer] = await boundedCalls(client, [{ to: owner, data, gas: signatureGas }], signal);
    if (answer === undefined) throw new TypeError('the node has lost an answer');
    return answer;
  }

  /** Whether a signature holds once some calls have been made. */
  async function simulateSignature(
    owner: Address,
    data: Hex,
    before: readonly SimulatedCall[],
    signal: AbortSignal,
  ): Promise<BoundedAnswer | undefined> {
    const call = { from: settlementContract, to: owner, data, gas: signatureGas };
    const answers = await simulateCalls(client, [...before, call], signal);
    const answer = answers?.at(-1);
    // A call to nobody goes well and returns nothing.
    return answer && { ...firstWord(answer), data: answer.data, exists: answer.data !== '0x' || !answer.success };
  }

  return {
    balanceAndAllowance: (query, { signal }) => readFundsOf(query, signal),

    balancesAndAllowances: (queries, { signal }) => readFunds(queries, signal),

    tokenInfo: (token, { signal }) => readTokenInfo(client, token, signal),

    async isValidSignature(query, { signal }): Promise<ContractSignatureAnswer> {
      const reason = signatureRejection(await judge(query, signal));
      if (reason === undefined) return { valid: true };
      const wrapped = unwrap(query.signature);
      if (wrapped === undefined) return { valid: false, reason };
      const { factory, factoryData, signature } = wrapped;
      const making = { from: settlementContract, to: factory, data: factoryData };
      const before = [making, ...interactionCalls(settlementContract, query.pre)];
      const data = isValidSignatureData(query.digest, signature);
      const made = await simulateSignature(query.owner, data, before, signal);
      const still = made === undefined ? reason : signatureRejection(made);
      return still === undefined ? { valid: true } : { valid: false, reason: still };
    },

    async simulate(query, { signal }): Promise<Simulation> {
      const { owner, token, spender, pre, amount } = query;
      const answers = await simulateCalls(
        client,
        [
          ...interactionCalls(settlementContract, pre),
          { from: spender, to: token, data: balanceOfData(owner), gas: READ_GAS },
          { from: spender, to: token, data: allowanceData(owner, spender), gas: READ_GAS },
          { from: spender, to: token, data: transferFromData(owner, settlementContract, amount) },
        ],
        signal,
      );
      if (answers === undefined) return withoutHooks(query, signal);
      const [balance, allowance, transfer] = answers.slice(-3);
      if (balance === undefined || allowance === undefined || transfer === undefined) {
        throw new TypeError('the node has lost an answer');
      }
      return {
        balance: amountOf(firstWord(balance)),
        allowance: amountOf(firstWord(allowance)),
        transferRevert: moved(transfer) ? undefined : transfer.data,
      };
    },

    async verify(domain: Domain, { signal }) {
      await verifyDomain(client, 'the node', domain, signal);
    },
  };

  async function withoutHooks(query: SimulationQuery, signal: AbortSignal): Promise<Simulation> {
    const { balance } = await readFundsOf(query, signal);
    return { balance, allowance: UNLIMITED, transferRevert: undefined };
  }
}

/** Compares chain id and settlement contract with those of the book. */
export async function verifyDomain(
  client: RpcClient,
  name: string,
  domain: Domain,
  signal: AbortSignal,
): Promise<void> {
  const [chainId, code] = await Promise.all([
    callRpc(client, signal, 'eth_chainId', []),
    callRpc(client, signal, 'eth_getCode', [domain.settlementContract, 'latest']),
  ]);
  assertSameChain(name, domain, quantity(chainId), hex(code));
}

const UNLIMITED = 2n ** 256n - 1n;

/** What a token says it is; nothing when it is none. */
function amountOf(answer: Pick<BoundedAnswer, 'success' | 'size' | 'word'> | undefined): bigint {
  return answer?.success && answer.size >= 32 ? BigInt(answer.word) : 0n;
}

function firstWord({ success, data }: SimulatedAnswer): Pick<BoundedAnswer, 'success' | 'size' | 'word'> {
  return { success, size: (data.length - 2) / 2, word: data.slice(0, 66).padEnd(66, '0') as Hex }; // padded hex
}

/** Tokens of old return nothing, others whether it went well (GPv2SafeERC20.sol). */
function moved({ success, data }: SimulatedAnswer): boolean {
  return success && (data === '0x' || BigInt(data.slice(0, 66)) === 1n);
}

const balanceOfData = (owner: Address): Hex => `0x70a08231${argument(owner)}`;
const allowanceData = (owner: Address, spender: Address): Hex => `0xdd62ed3e${argument(owner)}${argument(spender)}`;
const transferFromData = (from: Address, to: Address, amount: bigint): Hex =>
  `0x23b872dd${argument(from)}${argument(to)}${amount.toString(16).padStart(64, '0')}`;
const argument = (address: Address) => address.slice(2).padStart(64, '0');
