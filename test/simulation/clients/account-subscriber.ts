import type { AccountStore, Address } from 'intentbook';
import type { Report } from '../checks/store-observer.ts';
import type { BookProcess } from '../machine/book-process.ts';
import type { SeededRandom } from '../machine/random.ts';
import type { Scheduler } from '../machine/scheduler.ts';
import { createConnection } from './connection.ts';
import type { Subscriber } from './subscribers.ts';

export interface AccountSubscriberContext {
  readonly name: string;
  readonly account: Address;
  /** The account store without faults. */
  readonly store: AccountStore;
  readonly scheduler: Scheduler;
  readonly random: SeededRandom;
  readonly report: Report;
  readonly trace: (text: string) => void;
  /** Returns a process that has started. */
  readonly findProcess: () => BookProcess | undefined;
}

/** Creates a client that follows the notification stream of an account, and resumes after each interruption. */
export function createAccountSubscriber(context: AccountSubscriberContext): Subscriber {
  const { name, account, store, scheduler, random, report, trace } = context;
  let position = 0;

  const findNext = async () => (await store.notifications.after(position, 1, account))[0];

  /** Checks that an event is the next entry of the log. The account log is never shortened. */
  async function receive(type: string, id: number, text: string): Promise<void> {
    const next = await findNext();
    const expected = next?.type === 'withdrawn' ? JSON.stringify({ id: next.notification }) : next?.body;
    if (next?.id !== id || next.type !== type || expected !== text)
      report('streams', `${name} received ${type} ${id} after ${position}, expected ${next?.type} ${next?.id}`);
    position = id;
  }

  const connection = createConnection({
    scheduler,
    random,
    find() {
      const found = context.findProcess();
      return found && { accounts: found.accounts, onEnd: found.process.onEnd };
    },
    async follow({ accounts }, isCurrent, onLeave) {
      const stream = await accounts.notifications.rendered.stream(account, { after: position });
      onLeave(stream.leave);
      for (;;) {
        const events = await stream.take();
        if (!isCurrent() || events.length === 0) return;
        for (const event of events) {
          if (event.type === 'gap') report('streams', `${name} received a gap from ${event.from} to ${event.to}`);
          else if (event.type === 'position') {
            const missed = await findNext();
            if (missed !== undefined && missed.id <= event.id)
              report('streams', `${name} received position ${event.id} before ${missed.id}`);
            position = Math.max(position, event.id);
          } else await receive(event.event, event.id, event.data);
        }
        trace(`${name} at ${position}`);
      }
    },
  });

  return {
    disconnect: connection.reconnect,
    async requireAll(notify) {
      const next = await findNext();
      if (next !== undefined) notify('liveness', `${name} has not received entry ${next.id}, it is at ${position}`);
    },
  };
}
