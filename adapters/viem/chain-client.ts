import type {
  Address,
  ChainClient,
  ContractSignatureQuery,
  ContractSignatureResult,
  Domain,
  Funds,
  FundsQuery,
  Hex,
  Simulation,
  SimulationQuery,
} from 'intentbook';
import {
  assertKnownOptions,
  assertSameChain,
  type BoundedResult,
  bytes,
  bytes32,
  encodeCall,
  NATIVE_MARKER,
  parseAddress,
  requireInteger,
  word,
} from '#internal';
import { createBalanceSlots } from './balance-slots.ts';
import { boundedCalls } from './bounded-calls.ts';
import { getLoanOverride } from './flashloan.ts';
import { callRpc, parseAmount, parseHexResult, parseQuantity, type RpcClient, requireClient } from './rpc.ts';
import { type SimulatedCall, type SimulatedResult, simulateCalls, toInteractionCalls } from './simulation.ts';
import { readTokenInfo, readTokensInfo } from './token-info.ts';
import { readVaultFunds } from './vault.ts';

/** Options of reading funds and contract signatures. */
export interface ViemChainOptions {
  /**
   * Contract that executes an order's interactions. Default: the production contract, the same on every known chain.
   */
  readonly settlementContract?: Address;
  /** Gas limit of a contract signature check. Default: 2000000. */
  readonly signatureGas?: number;
}

/** Gas limit of reading a balance or an allowance. */
const READ_GAS = 1_000_000;

/**
 * Sender of simulated deployments (ERC-6492). It is no contract and no wallet trusts it: a deployment call comes from
 * the client and must not run with the authority of another contract.
 */
const NEUTRAL_SENDER: Address = '0x0000000000000000000000000000000000006492';

const PRODUCTION: Address = '0x9008d19f58aabd9ed0d60971565aa8510560ab41';

/**
 * Creates the chain client of a book on a viem client. All reads use the newest block.
 *
 * - Balance and allowance are read in one `eth_call`.
 * - Balances of the vault are read with the owner's approval of the spender as a relayer.
 * - A contract signature is checked with a gas limit; only the first 32 bytes of the return data are read.
 * - A signature of an account may include the deployment of its contract (ERC-6492); one of an order may not.
 * - Orders with pre-hooks are simulated with `eth_simulateV1`. If the node does not support this method, hooks are
 *   skipped: the allowance, which hooks may set, is not checked, and contract signatures are checked without them.
 * - The receiver of a flash loan has the borrowed tokens in the simulation. This needs `eth_createAccessList` as well.
 *
 * @param client - A `PublicClient`. Its transport controls retries.
 * @throws TypeError if an option is unknown or malformed.
 */
export function viemChain(client: RpcClient, options: ViemChainOptions = {}): ChainClient {
  requireClient('viemChain', client);
  assertKnownOptions('viemChain', options, ['settlementContract', 'signatureGas']);
  const { signatureGas = 2_000_000 } = options;
  const contract = options.settlementContract ?? PRODUCTION;
  const settlementContract = parseAddress('viemChain', 'settlementContract', contract);
  requireInteger(`viemChain: signatureGas`, signatureGas, 1);
  const slots = createBalanceSlots(client);

  async function checkSignature(query: ContractSignatureQuery, signal: AbortSignal) {
    const { owner, digest, signature, pre, flashloan } = query;
    const data = encodeIsValidSignature(digest, signature);
    if (pre.length > 0) {
      const before = toInteractionCalls(settlementContract, pre);
      const loan = await getLoanOverride(slots, flashloan, signal);
      const simulated = await simulateSignature(settlementContract, owner, data, before, signal, loan);
      if (simulated !== undefined) return simulated;
    }
    const [result] = await boundedCalls(client, [{ to: owner, data, gas: signatureGas }], signal);
    if (result === undefined) throw new TypeError('the node returned too few results');
    return result;
  }

  /** Checks a signature after some calls. Returns undefined if the node does not support simulations. */
  async function simulateSignature(
    from: Address,
    owner: Address,
    data: Hex,
    before: readonly SimulatedCall[],
    signal: AbortSignal,
    stateOverrides?: object,
  ): Promise<BoundedResult | undefined> {
    const call = { from, to: owner, data, gas: signatureGas };
    const results = await simulateCalls(client, [...before, call], signal, stateOverrides);
    const result = results?.at(-1);
    // A call to an address without code succeeds and returns nothing.
    return result && { ...readFirstWord(result), data: result.data, exists: result.data !== '0x' || !result.success };
  }

  return {
    balanceAndAllowance: async (query, { signal }) => (await readFunds(client, [query], signal))[0],

    balancesAndAllowances: (queries, { signal }) => readFunds(client, queries, signal),

    vaultFunds: (query, { signal }) => readVaultFunds(client, query, signal),

    tokenInfo: (token, { signal }) => readTokenInfo(client, token, signal),

    tokensInfo: (tokens, { signal }) => readTokensInfo(client, tokens, signal),

    async isValidSignature(query, { signal }): Promise<ContractSignatureResult> {
      const result = await checkSignature(query, signal);
      const reason = getSignatureRejection(result);
      if (reason === undefined) return { valid: true, ...(result.gas === undefined ? {} : { gas: result.gas }) };
      // A contract that exists decides about its signatures itself: its deployment is never simulated.
      const wrapped = query.allowDeployment && !result.exists ? unwrapSignature(query.signature) : undefined;
      if (wrapped === undefined) return { valid: false, reason };
      const { factory, factoryData, signature } = wrapped;
      const deployment = { from: NEUTRAL_SENDER, to: factory, data: factoryData };
      const data = encodeIsValidSignature(query.digest, signature);
      const deployed = await simulateSignature(NEUTRAL_SENDER, query.owner, data, [deployment], signal);
      if (deployed === undefined) throw new Error('the node cannot simulate the deployment of a contract (ERC-6492)');
      const finalReason = getSignatureRejection(deployed);
      return finalReason === undefined ? { valid: true, signature } : { valid: false, reason: finalReason };
    },

    async simulate(query, { signal }): Promise<Simulation> {
      const { owner, token, spender, pre, amount, flashloan } = query;
      const results = await simulateCalls(
        client,
        [
          ...toInteractionCalls(settlementContract, pre),
          { from: spender, to: token, data: encodeBalanceOf(owner), gas: READ_GAS },
          { from: spender, to: token, data: encodeAllowance(owner, spender), gas: READ_GAS },
          { from: spender, to: token, data: encodeTransferFrom(owner, settlementContract, amount) },
        ],
        signal,
        await getLoanOverride(slots, flashloan, signal),
      );
      if (results === undefined) return simulateWithoutHooks(client, query, signal);
      const [balance, allowance, transfer] = results.slice(-3);
      if (balance === undefined || allowance === undefined || transfer === undefined) {
        throw new TypeError('the node returned too few results');
      }
      // An account without code returns nothing to any call. The settlement contract would revert.
      const isContract = !balance.success || balance.data !== '0x' || transfer.data !== '0x';
      return {
        // The transfer decides about amounts that the token does not return.
        balance: toAmount(readFirstWord(balance)) ?? amount,
        allowance: toAmount(readFirstWord(allowance)) ?? amount,
        transferRevert: isContract && hasTransferred(transfer) ? undefined : transfer.data,
      };
    },

    async verify(domain: Domain, { signal }) {
      await verifyDomain(client, 'the node', domain, signal);
    },
  };
}

/** Reads the balance only: hooks may set the allowance. */
async function simulateWithoutHooks(
  client: RpcClient,
  query: SimulationQuery,
  signal: AbortSignal,
): Promise<Simulation> {
  const [funds] = await readFunds(client, [query], signal);
  const { balance } = funds ?? { balance: query.amount };
  return { balance, allowance: UNLIMITED, transferRevert: funds === undefined ? '0x' : undefined };
}

/** Reads balances and allowances. An amount that the token does not return is undefined. */
async function readFunds(
  client: RpcClient,
  queries: readonly FundsQuery[],
  signal: AbortSignal,
): Promise<(Funds | undefined)[]> {
  const natives = queries.filter(({ token }) => token === NATIVE_MARKER);
  const tokens = queries.filter(({ token }) => token !== NATIVE_MARKER);
  const calls = tokens.flatMap(({ owner, token, spender }) => [
    { to: token, data: encodeBalanceOf(owner), gas: READ_GAS },
    { to: token, data: encodeAllowance(owner, spender), gas: READ_GAS },
  ]);
  const results = calls.length === 0 ? [] : await boundedCalls(client, calls, signal);
  const funds = new Map<FundsQuery, Funds>();
  for (const [i, query] of tokens.entries()) {
    const [balance, allowance] = [toAmount(results[2 * i]), toAmount(results[2 * i + 1])];
    if (balance !== undefined && allowance !== undefined) funds.set(query, { balance, allowance });
  }
  for (const query of natives) {
    const balance = parseAmount(await callRpc(client, signal, 'eth_getBalance', [query.owner, 'latest']));
    funds.set(query, { balance, allowance: 0n });
  }
  return queries.map((query) => funds.get(query));
}

/** Checks that chain id and settlement contract of the node are those of the book. */
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
  assertSameChain(name, domain, parseQuantity(chainId), parseHexResult(code));
}

const UNLIMITED = 2n ** 256n - 1n;

/** Returns the amount that a token returned; `undefined` if the call failed or returned too few bytes. */
function toAmount(result: Pick<BoundedResult, 'success' | 'size' | 'word'> | undefined): bigint | undefined {
  return result?.success && result.size >= 32 ? BigInt(result.word) : undefined;
}

function readFirstWord({ success, data }: SimulatedResult): Pick<BoundedResult, 'success' | 'size' | 'word'> {
  return { success, size: (data.length - 2) / 2, word: data.slice(0, 66).padEnd(66, '0') as Hex }; // padded hex
}

/** Returns whether a transfer succeeded: the token returned nothing, or one word that is not 0 (GPv2SafeERC20.sol). */
function hasTransferred({ success, data }: SimulatedResult): boolean {
  return success && (data === '0x' || (data.length === 66 && BigInt(data) !== 0n));
}

const encodeBalanceOf = (owner: Address) => encodeCall('0x70a08231', [word(owner)]);
const encodeAllowance = (owner: Address, spender: Address) => encodeCall('0xdd62ed3e', [word(owner), word(spender)]);
const encodeTransferFrom = (from: Address, to: Address, amount: bigint) =>
  encodeCall('0x23b872dd', [word(from), word(to), word(amount)]);

/** Return value of a contract that accepts a signature (EIP-1271), as a word. */
const MAGIC = `0x1626ba7e${'0'.repeat(56)}`;

/** Last bytes of a signature that includes the deployment of its contract (ERC-6492). */
const WRAPPED_SUFFIX = '6492'.repeat(16);

/** Encodes a call of `isValidSignature(bytes32,bytes)`. */
function encodeIsValidSignature(digest: Hex, signature: Hex): Hex {
  return encodeCall('0x1626ba7e', [bytes32(digest), bytes(signature)]);
}

/** Returns the reason why a result does not accept the signature, or undefined if it does. */
function getSignatureRejection({ success, word: result, size, exists }: BoundedResult): string | undefined {
  if (!exists) return 'no contract at this address';
  if (!success) return 'reverted or ran out of gas';
  if (size < 32) return `returned ${size} bytes`;
  return result === MAGIC ? undefined : `returned ${result.slice(0, 10)}`;
}

/** Call that deploys the contract, and the signature for the deployed contract. */
interface UnwrappedSignature {
  readonly factory: Address;
  readonly factoryData: Hex;
  readonly signature: Hex;
}

/**
 * Parses a signature with a deployment: `abi.encode(factory, factoryData, signature)` and a suffix.
 *
 * @returns Undefined for an ordinary signature.
 */
function unwrapSignature(signature: Hex): UnwrappedSignature | undefined {
  if (!signature.endsWith(WRAPPED_SUFFIX)) return undefined;
  const text = signature.slice(2, -WRAPPED_SUFFIX.length);
  const getWord = (index: number) => text.slice(64 * index, 64 * index + 64);
  const getBytes = (index: number): Hex | undefined => {
    const head = 2 * Number(`0x${getWord(index)}`);
    const size = 2 * Number(`0x${text.slice(head, head + 64)}`);
    return head + 64 + size <= text.length ? `0x${text.slice(head + 64, head + 64 + size)}` : undefined;
  };
  const [factoryData, inner] = [getBytes(1), getBytes(2)];
  if (factoryData === undefined || inner === undefined) return undefined;
  return { factory: `0x${getWord(0).slice(24)}`, factoryData, signature: inner };
}
