import type { Task, TaskChange } from 'intentbook';
import { getOrCreate } from './get-or-create.ts';
import { SortedList } from './sorted-list.ts';

/** Creates durable tasks without entries. All methods are synchronous, so each is one atomic step. */
export function createMemoryTasks() {
  const kinds = new Map<string, { readonly byKey: Map<string, Task>; readonly byDue: SortedList<Task> }>();

  const ofKind = (kind: string) =>
    getOrCreate(kinds, kind, () => ({ byKey: new Map(), byDue: new SortedList<Task>(soonestFirst) }));

  function write({ kind, key, version, to }: TaskChange): boolean {
    const { byKey, byDue } = ofKind(kind);
    const current = byKey.get(key);
    if (version !== undefined && version !== (current?.version ?? 0)) return false;
    if (current !== undefined) byDue.remove(current);
    byKey.delete(key);
    if (to === null) return true;
    const next = { kind, key, due: to.due, version: (current?.version ?? 0) + 1, value: to.value };
    byKey.set(key, next);
    byDue.add(next);
    return true;
  }

  return {
    get: (kind: string, keys: readonly string[]): Task[] =>
      [...new Set(keys)].flatMap((key) => ofKind(kind).byKey.get(key) ?? []),
    due(kind: string, before: number, limit: number): Task[] {
      const { byDue } = ofKind(kind);
      return byDue.slice(
        0,
        Math.min(
          limit,
          byDue.firstWhere(({ due }) => due >= before),
        ),
      );
    },
    write: (changes: readonly TaskChange[]): boolean[] => changes.map(write),
    count: (kind: string): number => ofKind(kind).byKey.size,
  };
}

const soonestFirst = (a: Task, b: Task) => a.due - b.due || (a.key < b.key ? -1 : a.key > b.key ? 1 : 0);
