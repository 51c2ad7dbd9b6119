import type { Channel } from 'intentbook';
import type { ChannelFault, TargetFault } from './plan.ts';
import type { VirtualProcess } from './process.ts';
import type { SeededRandom } from './random.ts';
import type { Scheduler } from './scheduler.ts';

/**
 * Receivers of notifications behind a channel that fails. All processes send to the same ones. Each target has a host.
 */
export interface Receiver {
  /** The faults of the channel, which affect all targets. */
  readonly faults: Set<ChannelFault>;
  /** The faults of single targets. */
  readonly targetFaults: Map<string, TargetFault>;
  /** The bodies that arrived, by delivery id. */
  readonly arrived: ReadonlyMap<string, string>;
  /** Returns the channel of a process. */
  connect(process: VirtualProcess, random: SeededRandom): Channel;
}

export function createReceiver(
  scheduler: Scheduler,
  onArrival: (body: string) => void,
  onFault: (name: string) => void,
): Receiver {
  const faults = new Set<ChannelFault>();
  const targetFaults = new Map<string, TargetFault>();
  const arrived = new Map<string, string>();
  return {
    faults,
    targetFaults,
    arrived,
    connect: (process, random) => ({
      name: 'webhook',
      signs: false,
      confirmation: 'none',
      parseTarget: (target) => target,
      getHost: (target) => target,
      deliver: ({ id, body, subscription }) =>
        new Promise((resolve) => {
          const own = targetFaults.get(subscription.target);
          const fault = [...faults].find(() => random.chance(0.6)) ?? (own === 'slow' ? undefined : own);
          if (fault !== undefined) onFault(`channel ${fault}`);
          if (fault === 'hang') return;
          // Shorter than the timeout of an attempt.
          const delay = own === 'slow' ? 1_700 : 0;
          scheduler.after(delay + random.integer(1, 200), () => {
            if (fault !== 'fail') {
              arrived.set(id, body);
              onArrival(body);
            }
            const result =
              fault === undefined ? ({ status: 'delivered' } as const) : ({ status: 'failed', error: fault } as const);
            scheduler.after(random.integer(0, 50), () => process.enter(() => resolve(result)));
          });
        }),
    }),
  };
}
