import type { Channel, DeliveryResult, Subscription } from 'intentbook';
import type { VirtualProcess } from '../machine/process.ts';
import type { SeededRandom } from '../machine/random.ts';
import type { Scheduler } from '../machine/scheduler.ts';
import type { ChannelFault, TargetFault } from '../plan/plan.ts';

/**
 * Receivers of notifications behind a channel that fails. All processes send to the same ones. Each target has a host.
 */
export interface Receiver {
  /** The faults of the channel, which affect all targets. */
  readonly faults: Set<ChannelFault>;
  /** The faults of single targets. */
  readonly targetFaults: Map<string, TargetFault>;
  /** Returns the channel of a process. */
  connect(process: VirtualProcess, random: SeededRandom): Channel;
}

export interface ReceiverContext {
  readonly scheduler: Scheduler;
  readonly onArrival: (body: string, subscription: Subscription) => void;
  /** Called when a target responds that it does not exist any more. */
  readonly onGone: (subscription: Subscription) => void;
  readonly onFault: (name: string) => void;
}

export function createReceiver({ scheduler, onArrival, onGone, onFault }: ReceiverContext): Receiver {
  const faults = new Set<ChannelFault>();
  const targetFaults = new Map<string, TargetFault>();
  return {
    faults,
    targetFaults,
    connect: (process, random) => ({
      name: 'webhook',
      signs: false,
      confirmation: 'none',
      parseTarget: (target) => target,
      getHost: (target) => target,
      deliver: ({ body, subscription }) =>
        new Promise((resolve) => {
          const own = targetFaults.get(subscription.target);
          const fault = [...faults].find(() => random.chance(0.6)) ?? (own === 'slow' ? undefined : own);
          if (fault !== undefined) onFault(`channel ${fault}`);
          if (fault === 'hang') return;
          // Shorter than the timeout of an attempt.
          const delay = own === 'slow' ? 1_700 : 0;
          scheduler.after(delay + random.integer(1, 200), () => {
            if (fault === 'gone') onGone(subscription);
            else if (fault !== 'fail') onArrival(body, subscription);
            scheduler.after(random.integer(0, 50), () => process.enter(() => resolve(toResult(fault))));
          });
        }),
    }),
  };
}

function toResult(fault: ChannelFault | TargetFault | undefined): DeliveryResult {
  if (fault === 'gone') return { status: 'gone', error: fault };
  return fault === undefined ? { status: 'delivered' } : { status: 'failed', error: fault };
}
