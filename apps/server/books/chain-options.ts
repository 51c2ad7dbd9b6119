import type { ChainClient, OrderBookOptions } from 'intentbook';
import type { PublicClient } from 'viem';
import { defined } from '#internal';
import { requirePackage } from '../require-package.ts';
import type { ParsedBookSettings } from '../settings/schema.ts';

/** Maximum number of requests per batch, which many providers allow. */
const BATCH = 100;

/** Creates the client of chain 1 over several nodes. Nothing without nodes. */
export async function mainnetChain(rpc: readonly string[] = []): Promise<ChainClient | undefined> {
  if (rpc.length === 0) return undefined;
  const client = await createNodeClient(rpc, '--affiliate-rpc');
  return (await import('intentbook/viem')).viemChain(client);
}

/** Creates a client over several nodes, the preferred one first. */
export async function createNodeClient(rpc: readonly string[], flag = '--rpc'): Promise<PublicClient> {
  const { createPublicClient, fallback, http } = await requirePackage(flag, 'viem', () => import('viem'));
  return createPublicClient({ transport: fallback(rpc.map((url) => http(url, { retryCount: 0 }))) });
}

/** Creates the chain client and the indexer options of a book. Nothing without nodes. */
export async function createChainOptions({
  rpc = [],
  fromBlock,
  pollInterval,
  reorgLimit,
  onchainOrderContracts,
  sanctionsOracle: oracle,
  maxOrderGas = 8_000_000,
}: Partial<ParsedBookSettings>): Promise<Pick<OrderBookOptions, 'chain' | 'indexer' | 'isDenied' | 'simulator'>> {
  if (rpc.length === 0) return {};
  const { createPublicClient, fallback, http } = await requirePackage('--rpc', 'viem', () => import('viem'));
  const { sanctionsOracle, viemChain, viemOrderSimulator, viemSource } = await import('intentbook/viem');
  // The indexer handles failures and switches nodes, so the transport must not retry.
  const transports = rpc.map((url) => http(url, { batch: { batchSize: BATCH }, retryCount: 0 }));
  const sources = transports.map((transport, i) => {
    const client = createPublicClient({ transport });
    return viemSource(client, { name: `node ${i + 1} at ${new URL(rpc[i] ?? '').hostname}` });
  });
  const client = createPublicClient({ transport: fallback(transports) });
  return {
    // A signature that needs more gas than an order may is measured, so that the rejection has the reason.
    chain: viemChain(client, { signatureGas: Math.ceil(maxOrderGas * 1.25) }),
    simulator: viemOrderSimulator(client),
    ...(oracle === undefined ? {} : { isDenied: sanctionsOracle(client, oracle) }),
    indexer: {
      sources,
      ...defined({ fromBlock, pollInterval, reorgLimit, onchainOrderContracts }),
    },
  };
}
