import type { Channel } from 'intentbook';
import type { ChannelFault } from './plan.ts';
import type { VirtualProcess } from './process.ts';
import type { SeededRandom } from './random.ts';
import type { Scheduler } from './scheduler.ts';

/** A receiver of notifications behind a channel that fails. All processes send to the same one. */
export interface Receiver {
  readonly faults: Set<ChannelFault>;
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
  const arrived = new Map<string, string>();
  return {
    faults,
    arrived,
    connect: (process, random) => ({
      name: 'webhook',
      signs: false,
      confirmation: 'none',
      parseTarget: (target) => target,
      getHost: () => 'receiver',
      deliver: ({ id, body }) =>
        new Promise((resolve) => {
          const fault = [...faults].find(() => random.chance(0.6));
          if (fault !== undefined) onFault(`channel ${fault}`);
          if (fault === 'hang') return;
          scheduler.after(random.integer(1, 200), () => {
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
