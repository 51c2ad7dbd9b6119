import type { BundleSimulator } from 'intentbook';
import { chainById, defined } from '#internal';
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
    } else if (rpc.length > 0) {
      const { viemSimulator } = await import('intentbook/viem');
      simulators[chainId] = viemSimulator(await createNodeClient(rpc), defined({ wrappedNative }));
    }
  }
  return simulators;
}
