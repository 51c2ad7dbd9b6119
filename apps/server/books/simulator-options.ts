import type { BundleSimulator } from 'intentbook';
import { chainById } from '#internal';
import type { ServerPlan } from '../config/plan.ts';
import { createNodeClient } from './chain-options.ts';

/** Creates the simulators of all chains: on Tenderly, if configured, otherwise on the nodes of the books. */
export async function simulatorOptions({ settings, books }: ServerPlan): Promise<Record<number, BundleSimulator>> {
  const simulators: Record<number, BundleSimulator> = {};
  for (const { chainId, settings: book } of books) {
    const { rpc = [], wrappedNative = chainById(chainId)?.wrappedNative } = book;
    if (simulators[chainId] !== undefined) continue;
    if (settings.tenderly !== undefined) {
      const { tenderlySimulator } = await import('intentbook/simulators');
      simulators[chainId] = tenderlySimulator({ chainId, ...settings.tenderly });
    } else if (rpc.length > 0) simulators[chainId] = await nodeSimulator(rpc, wrappedNative);
  }
  return simulators;
}

async function nodeSimulator(rpc: readonly string[], wrappedNative: string | undefined): Promise<BundleSimulator> {
  const client = await createNodeClient(rpc);
  const { viemSimulator } = await import('intentbook/viem');
  return viemSimulator(client, wrappedNative === undefined ? {} : { wrappedNative });
}
