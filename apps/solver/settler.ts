import type { Address, Hex } from 'intentbook';
import { assertKnownOptions, MAX_TIMER, parseAddress, requireFunctions, requireInteger, untilAborted } from '#internal';
import { encodeSettlement } from './encode.ts';
import { formatReason } from './format-reason.ts';
import type { NodeClient, Solution } from './types.ts';

/** Executes the settlements of a solver. */
export interface Settler {
  /** The account that settles. */
  readonly address: Address;
  /**
   * Executes a settlement without sending it. Returns the reason why it fails, or `undefined`.
   *
   * @param signal - Aborted when the result is no longer needed.
   * @throws Error if it cannot be executed, such as when the node is not reachable.
   */
  simulate(solution: Solution, signal?: AbortSignal): Promise<string | undefined>;
  /**
   * Sends a settlement and waits until it is in a block.
   *
   * @throws Error if the result is unknown. The settlement may have been sent.
   */
  submit(solution: Solution, auctionId: number): Promise<SettlementReceipt>;
  /** Returns the number of the newest block. Absent: a driver does not check the deadline of a settlement. */
  block?(): Promise<number>;
}

/** The transaction of a settlement. */
export interface SettlementReceipt {
  readonly transactionHash: Hex;
  readonly block: number;
  readonly reverted: boolean;
}

/** Account that the settlement contract allows to settle. */
export interface SolverWallet {
  readonly address: Address;
  /** Signs and sends a transaction. */
  sendTransaction(transaction: { readonly to: Address; readonly data: Hex }): Promise<Hex>;
}

/** Access to the chain that is settled on. */
export interface NodeSettlerOptions {
  /** Node that settlements are simulated on, and receipts are read from. */
  readonly client: NodeClient;
  /** Account of the solver, which sends settlements: a wallet client of viem. */
  readonly wallet: SolverWallet;
  /** Default: the production contract, the same on every chain of the protocol. */
  readonly settlementContract?: Address;
  /**
   * Time to wait for a response of the node, for the wallet to send a settlement, and for its receipt, each in
   * milliseconds. Default: 60000.
   */
  readonly timeout?: number;
}

const PRODUCTION: Address = '0x9008d19f58aabd9ed0d60971565aa8510560ab41';

/** Time between the first two requests for a receipt, in milliseconds; doubled with each request. */
const RECEIPT_INTERVAL = 5;
const MAX_RECEIPT_INTERVAL = 1_000;

/**
 * Creates a settler that sends transactions to a node.
 *
 * @throws TypeError if an option is unknown or malformed.
 */
export function nodeSettler(options: NodeSettlerOptions): Settler {
  assertKnownOptions('nodeSettler', options, ['client', 'wallet', 'settlementContract', 'timeout']);
  const { client, wallet } = options;
  requireFunctions('nodeSettler: client', client, ['request']);
  requireFunctions('nodeSettler: wallet', wallet, ['sendTransaction']);
  const address = parseAddress('nodeSettler', 'wallet.address', wallet.address);
  const contract = options.settlementContract ?? PRODUCTION;
  const settlementContract = parseAddress('nodeSettler', 'settlementContract', contract);
  const timeout = requireInteger('nodeSettler: timeout', options.timeout ?? 60_000, 1, MAX_TIMER);

  /** Sends a request to the node. Rejects with a `TimeoutError` if it does not respond. */
  function request(method: string, params: readonly unknown[], ms = timeout, ended?: AbortSignal): Promise<unknown> {
    const limit = AbortSignal.timeout(ms);
    const signal = ended === undefined ? limit : AbortSignal.any([limit, ended]);
    return untilAborted(client.request({ method, params }), signal);
  }

  async function send(data: Hex): Promise<Hex> {
    try {
      const sent = wallet.sendTransaction({ to: settlementContract, data });
      return await untilAborted(sent, AbortSignal.timeout(timeout));
    } catch (error) {
      throw new Error(`the wallet did not send the settlement: ${formatReason(error)}`);
    }
  }

  async function waitForReceipt(transactionHash: Hex): Promise<SettlementReceipt> {
    const deadline = performance.now() + timeout;
    for (let interval = RECEIPT_INTERVAL; ; interval = Math.min(2 * interval, MAX_RECEIPT_INTERVAL)) {
      // The transaction was sent, whether or not the node responds now.
      const left = Math.max(1, Math.ceil(deadline - performance.now()));
      const receipt = await request('eth_getTransactionReceipt', [transactionHash], left).catch(() => undefined);
      if (receipt !== null && receipt !== undefined) {
        const { blockNumber, status } = receipt as { blockNumber: string; status: string }; // of the JSON-RPC interface
        return { transactionHash, block: Number(blockNumber), reverted: BigInt(status) !== 1n };
      }
      if (performance.now() > deadline)
        throw new Error(`transaction ${transactionHash} has no receipt after ${timeout} ms`);
      await new Promise((resolve) => setTimeout(resolve, interval));
    }
  }

  return {
    address,
    async simulate(solution, signal) {
      let data: Hex;
      try {
        data = encodeSettlement(solution);
      } catch (error) {
        return formatReason(error);
      }
      const call = { from: address, to: settlementContract, data };
      try {
        await request('eth_call', [call, 'latest'], timeout, signal);
        return undefined;
      } catch (error) {
        signal?.throwIfAborted();
        if (isNetworkError(error)) throw new Error(`the node does not respond: ${formatReason(error)}`);
        return formatReason(error);
      }
    },
    submit: async (solution, auctionId) => waitForReceipt(await send(encodeSettlement(solution, auctionId))),
    async block() {
      try {
        return Number(await request('eth_blockNumber', []));
      } catch (error) {
        throw new Error(`the node returned no block: ${formatReason(error)}`);
      }
    },
  };
}

/** Names of the errors of viem's transports, and of aborted requests. */
const NETWORK_ERRORS = ['AbortError', 'HttpRequestError', 'SocketClosedError', 'TimeoutError', 'WebSocketRequestError'];

/** Returns whether a request has failed without a response of the node. */
function isNetworkError(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    // A solution that is too large for the node, or for its proxy, fails as others do.
    if ('status' in cause && cause.status === 413) return false;
    // `fetch` reports a failed connection as a `TypeError`.
    if (NETWORK_ERRORS.includes(cause.name) || cause instanceof TypeError) return true;
    if ('code' in cause && typeof cause.code === 'string' && /^E[A-Z]+$/.test(cause.code)) return true;
  }
  return false;
}
