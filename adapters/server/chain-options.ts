import type { ChainClient, OrderBookOptions } from 'intentbook';

/** How the server knows its chain, as its options say. */
export interface NodeOptions {
  /** Nodes by their URLs, the preferred one first. */
  readonly rpc?: readonly string[] | undefined;
  readonly fromBlock?: number | undefined;
}

/** Requests that travel together at most: what many providers allow. */
const BATCH = 100;

/** A chain to ask about signatures, through several nodes. Nothing without nodes. */
export async function mainnetChain(rpc: readonly string[] = []): Promise<ChainClient | undefined> {
  if (rpc.length === 0) return undefined;
  const { createPublicClient, fallback, http } = await import('viem');
  const { viemChain } = await import('intentbook/viem');
  return viemChain(createPublicClient({ transport: fallback(rpc.map((url) => http(url, { retryCount: 0 }))) }));
}

/** Puts together whom the book asks about its chain, and whom it follows. Nothing without nodes. */
export async function createChainOptions({
  rpc = [],
  fromBlock,
}: NodeOptions): Promise<Pick<OrderBookOptions, 'chain' | 'indexer'>> {
  if (rpc.length === 0) return {};
  const { createPublicClient, fallback, http } = await import('viem');
  const { viemChain, viemSource } = await import('intentbook/viem');
  // Whoever asks judges what a failure means, and turns to the next node.
  const transports = rpc.map((url) => http(url, { batch: { batchSize: BATCH }, retryCount: 0 }));
  const sources = transports.map((transport, i) => {
    const client = createPublicClient({ transport });
    return viemSource(client, { name: `node ${i + 1} at ${new URL(rpc[i] ?? '').hostname}` });
  });
  return {
    chain: viemChain(createPublicClient({ transport: fallback(transports) })),
    indexer: { sources, ...(fromBlock === undefined ? {} : { fromBlock }) },
  };
}
