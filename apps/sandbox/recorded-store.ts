import type { Clock } from 'intentbook';
import type { FaultPoint, Faults } from './faults.ts';

/** Operations that change a store, by their name. Leases are left out: they belong to running workers. */
const WRITES = new Set(
  (
    'insert cancel expire reinstate prune pruneEvents pruneChainEvents pruneDocuments put apply adopt rollback ' +
    'record write append register create confirm remove claim recordResult replay'
  ).split(' '),
);

export interface RecordedOperation {
  readonly group: string;
  readonly name: string;
  readonly args: readonly unknown[];
}

type Operations = Readonly<Record<string, (...args: readonly unknown[]) => Promise<unknown>>>;

/** Members that stores of books and of accounts have in common. */
interface OpenableStore<C> {
  open(context: C): Promise<void>;
  close(): Promise<void>;
}

/**
 * Creates a store that records every change, so that an earlier state can be restored by repeating the changes.
 * Requires a store that gives the same results for the same operations, such as the memory stores.
 *
 * @param saved - Operations that are repeated when the store is opened first.
 */
export function recordedStore<C extends { readonly clock: Clock }, S extends OpenableStore<C>>(
  create: () => S,
  { faults, saved = [] }: { readonly faults?: Faults; readonly saved?: readonly RecordedOperation[] | undefined } = {},
) {
  const operations: RecordedOperation[] = [...saved];
  let inner = create();
  let opened: C | undefined;

  function wrapGroup(group: string): unknown {
    const names = Object.keys(Reflect.get(inner, group) as Operations); // a group of operations
    const perform =
      (name: string) =>
      async (...args: readonly unknown[]) => {
        const point = getFaultPoint(group, name);
        if (point !== undefined) await faults?.pass(point);
        if (WRITES.has(name) && group !== 'leases') operations.push({ group, name, args });
        return call({ group, name, args });
      };
    const watch = (...args: readonly unknown[]) => call({ group, name: 'watch', args });
    return Object.fromEntries(names.map((name) => [name, name === 'watch' ? watch : perform(name)]));
  }

  function call({ group, name, args }: RecordedOperation): unknown {
    return (Reflect.get(inner, group) as Operations)[name]?.(...args); // a group of operations
  }

  const handler: ProxyHandler<S> = {
    get(_, property) {
      if (property === 'open') {
        return async (context: C) => {
          await inner.open(context);
          if (opened === undefined) await repeat();
          opened = context;
        };
      }
      const member: unknown = Reflect.get(inner, property);
      if (typeof member === 'function') return member.bind(inner);
      const isGroup = typeof member === 'object' && member !== null && property !== 'traits';
      if (!isGroup) return member;
      const known = groups.get(String(property)) ?? wrapGroup(String(property));
      groups.set(String(property), known);
      return known;
    },
  };
  const groups = new Map<string, unknown>();

  async function repeat(): Promise<void> {
    for (const operation of operations) await call(operation);
  }

  return {
    store: new Proxy(inner, handler),
    position: (): number => operations.length,
    /** Returns the operations so far, from which `recordedStore` makes an equal store. */
    operations: (): readonly RecordedOperation[] => operations,
    /** Restores the state after that many operations. The store must be closed. */
    async restore(position: number): Promise<void> {
      operations.length = position;
      inner = create();
      if (opened === undefined) return;
      await inner.open(opened);
      await repeat();
      await inner.close();
    },
  };
}

function getFaultPoint(group: string, name: string): FaultPoint | undefined {
  if (group !== 'orders') return undefined;
  if (name === 'insert') return 'commit';
  return name === 'get' || name === 'list' ? 'read' : undefined;
}
