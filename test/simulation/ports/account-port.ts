import type { AccountStore } from 'intentbook';
import type { StoreFault } from '../plan/plan.ts';
import type { CallRunnerContext } from './call-runner.ts';
import { createCallRunner, listGroups, loseOutcome } from './call-runner.ts';

/** The connection of a virtual process to an account store. */
export interface AccountPort {
  readonly store: AccountStore;
  readonly faults: Set<StoreFault>;
}

export interface AccountPortContext extends CallRunnerContext {
  readonly inner: AccountStore;
  /** Calls the hint when another process has written. */
  readonly watch: (hint: () => void) => () => void;
  /** Called after each call that may have written. */
  readonly onWrite: () => void;
  /** Called after each call that was executed, with the name of its group and its own. */
  readonly onCall: (name: string, args: readonly unknown[], result: unknown) => void;
}

/** Writes whose acknowledgement can be lost. */
const LOSABLE = new Set(['append', 'claim', 'recordResult', 'acquire', 'release', 'create', 'remove']);

/** Creates the port. The inner store stays open when a process ends. */
export function createAccountPort(context: AccountPortContext): AccountPort {
  const { run, faults } = createCallRunner(context);
  const groups = listGroups(context.inner).map(([noun, group]) => {
    const calls = Object.entries(group).map(([name, call]) => {
      const execute = async (args: readonly unknown[]) => {
        const result = await call(...args);
        context.onCall(`${noun}.${name}`, args, result);
        if (LOSABLE.has(name)) context.onWrite();
        return result;
      };
      const lose = LOSABLE.has(name) ? loseOutcome : undefined;
      return [name, (...args: readonly unknown[]) => run(name, () => execute(args), lose)] as const;
    });
    return [noun, Object.fromEntries(calls)] as const;
  });
  const wrapped = Object.fromEntries(groups) as unknown as AccountStore; // the same groups with the same methods
  return {
    faults,
    store: {
      ...wrapped,
      traits: context.inner.traits,
      notifications: { ...wrapped.notifications, watch: context.watch },
      async open() {},
      async close() {},
      check: () => run('check', () => context.inner.check()),
      forget: (account) => run('forget', () => context.inner.forget(account)),
    },
  };
}
