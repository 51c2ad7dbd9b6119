import type {
  Address,
  BundleCall,
  BundleCallResult,
  BundleSimulator,
  Hex,
  SimulatedLog,
  StateChange,
  TokenTransfer,
} from 'intentbook';
import { assertKnownOptions, parseAddress } from '#internal';
import {
  callRpc,
  list,
  NodeError,
  parseHexResult,
  parseQuantity,
  type RpcClient,
  record,
  requireClient,
  toRpcCall,
} from './rpc.ts';
import { createStateTracer } from './state-tracer.ts';

/** Options of a bundle simulator on a node. */
export interface ViemSimulatorOptions {
  /** Wrapped native currency, whose `Deposit` and `Withdrawal` change balances. Default: none. */
  readonly wrappedNative?: string;
  /** Whether changes of the state are traced, if the node supports `debug_traceCall`. Default: true. */
  readonly stateDiff?: boolean;
}

/** Maximum number of logs of a bundle. */
const MAX_LOGS = 5_000;

/**
 * Creates a simulator of bundles on a node (`eth_simulateV1`). The transactions are executed in one block on top of the
 * newest one, so all of them share the gas limit of a block. Changes of the state are traced with `debug_traceCall`.
 *
 * @param client - A `PublicClient`. Its transport controls retries.
 * @throws TypeError if an option is unknown or malformed.
 */
export function viemSimulator(client: RpcClient, options: ViemSimulatorOptions = {}): BundleSimulator {
  requireClient('viemSimulator', client);
  assertKnownOptions('viemSimulator', options, ['wrappedNative', 'stateDiff']);
  const { wrappedNative: wrapped, stateDiff = true } = options;
  const wrappedNative = wrapped === undefined ? undefined : parseAddress('viemSimulator', 'wrappedNative', wrapped);
  if (typeof stateDiff !== 'boolean') {
    throw new TypeError(`viemSimulator: stateDiff must be a boolean, got ${String(stateDiff)}`);
  }
  const traceState = stateDiff ? createStateTracer(client) : undefined;

  async function execute(calls: readonly BundleCall[], signal: AbortSignal): Promise<unknown> {
    const block = { calls: calls.map(toRpcCall) };
    return callRpc(client, signal, 'eth_simulateV1', [
      { blockStateCalls: [block], traceTransfers: true, validation: false },
      'latest',
    ]);
  }

  return {
    name: 'node',
    async simulate(calls, { signal }) {
      let block: Readonly<Record<string, unknown>>;
      try {
        block = record(list(await execute(calls, signal))[0]);
      } catch (error) {
        if (!(error instanceof NodeError)) throw error;
        if (error.unsupported) return { status: 'unsupported' };
        if (error.rejected) return { status: 'rejected' };
        throw error;
      }
      const results = list(block['calls']).map((each) => parseResult(each, wrappedNative));
      if (results.length !== calls.length) {
        throw new TypeError(`the node simulated ${results.length} calls instead of ${calls.length}`);
      }
      if (results.reduce((sum, { logs }) => sum + logs.length, 0) > MAX_LOGS) return { status: 'rejected' };
      const changes: readonly StateChange[][] = (await traceState?.(calls, block, signal)) ?? [];
      return { status: 'simulated', results: results.map((each, i) => ({ ...each, stateChanges: changes[i] ?? [] })) };
    },
  };
}

function parseResult(value: unknown, wrappedNative: Address | undefined): BundleCallResult {
  const { status, gasUsed, logs } = record(value);
  const parsed = list(logs ?? []).map(parseLog);
  const isNative = ({ address }: SimulatedLog) => address === NATIVE;
  const success = status === '0x1';
  return {
    success,
    gasUsed: parseQuantity(gasUsed),
    // The node adds a log for each transfer of native currency, which a transaction on chain does not emit.
    logs: parsed.filter((log) => !isNative(log)),
    // A call that fails moves nothing, but some nodes return its logs.
    transfers: success ? decodeTokenTransfers(unifyNative(parsed), wrappedNative) : [],
    stateChanges: [],
  };
}

/** Address of the logs for transfers of native currency. */
const NATIVE: Address = '0xeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee';

/** Address of the logs that a chain itself emits for transfers of native currency (EIP-7708). */
const SYSTEM: Address = '0xfffffffffffffffffffffffffffffffffffffffe';

/** Returns each transfer of native currency once, with one address: a node and a chain may both add a log. */
function unifyNative(logs: readonly SimulatedLog[]): SimulatedLog[] {
  const isTraced = logs.some(({ address }) => address === NATIVE);
  return logs.flatMap((log) => {
    if (log.address !== SYSTEM) return [log];
    return isTraced ? [] : [{ ...log, address: NATIVE }];
  });
}

function parseLog(value: unknown): SimulatedLog {
  const { address, topics, data } = record(value);
  return {
    address: parseHexResult(address, 20),
    topics: list(topics ?? []).map((topic): Hex => parseHexResult(topic, 32)),
    data: parseHexResult(data ?? '0x'),
  };
}

const ZERO_ADDRESS: Address = `0x${'00'.repeat(20)}`;

/** `Transfer(address,address,uint256)` of ERC-20. */
const TRANSFER = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef';

/** `Deposit(address,uint256)` and `Withdrawal(address,uint256)` of wrapped native currency. */
const DEPOSIT = '0xe1fffcc4923d04b559f4d29a8bfc6cda04eb5b0d3c460751c2402c5c5cc9109c';
const WITHDRAWAL = '0x7fcf532c15f0a6db0bd6d0e038bea71d30d808c7d98cb3bf7268a95bf5081b65';

/** Length of a word in hex. The amount of an ERC-721 transfer is a topic, and its data is empty. */
const DATA_SIZE = 66;

/**
 * Decodes the movements of ERC-20 tokens and native currency from logs.
 *
 * @param wrappedNative - The contract whose `Deposit` and `Withdrawal` mint and burn.
 */
function decodeTokenTransfers(logs: readonly SimulatedLog[], wrappedNative: Address | undefined): TokenTransfer[] {
  const transfers = logs.flatMap(({ address, topics, data }) => decodeTransfer(address, topics, data));
  const isListed = (other: TokenTransfer) =>
    transfers.some(
      ({ token, from, to, amount }) =>
        token === other.token && from === other.from && to === other.to && amount === other.amount,
    );
  return logs.flatMap(({ address: token, topics, data }) => {
    const listed = decodeTransfer(token, topics, data);
    if (listed.length > 0 || token !== wrappedNative) return listed;
    // Some wrapped tokens emit a transfer as well.
    return decodeWrapping(token, topics, data).filter((each) => !isListed(each));
  });
}

function decodeTransfer(token: Address, topics: readonly Hex[], data: Hex): TokenTransfer[] {
  const [event, from, to, ...more] = topics;
  if (event !== TRANSFER || from === undefined || to === undefined || more.length > 0) return [];
  return data.length === DATA_SIZE ? [{ token, from: toAddress(from), to: toAddress(to), amount: BigInt(data) }] : [];
}

function decodeWrapping(token: Address, [event, holder, ...more]: readonly Hex[], data: Hex): TokenTransfer[] {
  if (holder === undefined || more.length > 0 || data.length !== DATA_SIZE) return [];
  const [account, amount] = [toAddress(holder), BigInt(data)];
  if (event === DEPOSIT) return [{ token, from: ZERO_ADDRESS, to: account, amount }];
  return event === WITHDRAWAL ? [{ token, from: account, to: ZERO_ADDRESS, amount }] : [];
}

const toAddress = (topic: Hex): Address => `0x${topic.slice(26)}`;
