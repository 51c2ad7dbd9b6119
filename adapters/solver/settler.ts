import type { Address, Hex } from 'intentbook';
import { encodeSettlement } from './encode.ts';
import type { NodeClient, Solution } from './types.ts';

/** Executes the settlements of a solver. */
export interface Settler {
  /** The account that settles. */
  readonly address: Address;
  /** Executes a settlement without sending it. Returns the reason why it fails, or `undefined`. */
  simulate(solution: Solution): Promise<string | undefined>;
  /** Sends a settlement and waits until it is in a block. */
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
  readonly wallet: SolverWallet;
  /** Default: the production contract, the same on every chain of the protocol. */
  readonly settlementContract?: Address;
  /** Time to wait for the receipt of a settlement, in milliseconds. Default: 60000. */
  readonly timeout?: number;
}

const PRODUCTION: Address = '0x9008d19f58aabd9ed0d60971565aa8510560ab41';

/** Time between the first two requests for a receipt, in milliseconds; doubled with each request. */
const RECEIPT_INTERVAL = 5;
const MAX_RECEIPT_INTERVAL = 1_000;

/** Maximum length of the reason of a failed simulation. */
const MAX_REASON = 500;

/** Creates a settler that sends transactions to a node. */
export function nodeSettler(options: NodeSettlerOptions): Settler {
  const { client, wallet, settlementContract = PRODUCTION, timeout = 60_000 } = options;

  async function waitForReceipt(transactionHash: Hex): Promise<SettlementReceipt> {
    const deadline = performance.now() + timeout;
    const query = { method: 'eth_getTransactionReceipt', params: [transactionHash] };
    for (let interval = RECEIPT_INTERVAL; ; interval = Math.min(2 * interval, MAX_RECEIPT_INTERVAL)) {
      // The transaction was sent, whether or not the node responds now.
      const receipt = await client.request(query).catch(() => undefined);
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
    address: wallet.address,
    async simulate(solution) {
      const call = { from: wallet.address, to: settlementContract, data: encodeSettlement(solution) };
      try {
        await client.request({ method: 'eth_call', params: [call, 'latest'] });
        return undefined;
      } catch (error) {
        return formatReason(error);
      }
    },
    async submit(solution, auctionId) {
      const data = encodeSettlement(solution, auctionId);
      return waitForReceipt(await wallet.sendTransaction({ to: settlementContract, data }));
    },
    block: async () => Number(await client.request({ method: 'eth_blockNumber' })),
  };
}

/** Returns the message of an error without URLs, because the URL of a node often contains a key. */
function formatReason(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.replaceAll(/\w+:\/\/\S+/g, '…').slice(0, MAX_REASON);
}
