/**
 * A durable task of a book: something that it has to do at a time, with what it needs to know. Orders that wait to be
 * relayed, orders that are followed upstream, and imports are tasks.
 */
export interface Task {
  /** The kind of the task, such as `relay`: ASCII, at most 32 characters. */
  readonly kind: string;
  /** Identifies the task among those of its kind, such as a UID: ASCII, at most 200 characters. */
  readonly key: string;
  /** When it is due, in milliseconds since 1970. */
  readonly due: number;
  /** 1 after the creation, incremented by every change. */
  readonly version: number;
  /** What the task needs to know: text of the caller, such as JSON. */
  readonly value: string;
}

/** A change of a task. */
export interface TaskChange extends Pick<Task, 'kind' | 'key'> {
  /** The version that the caller has read; 0 if the task must not exist. Absent: it is not compared. */
  readonly version?: number;
  /** The new state; `null` deletes the task. */
  readonly to: Pick<Task, 'due' | 'value'> | null;
}

/** Durable tasks, each changed on condition that no other caller has changed it. */
export interface TaskStore {
  /** Reads tasks of a kind by their keys, in any order. Unknown ones are absent. */
  get(kind: string, keys: readonly string[]): Promise<Task[]>;

  /**
   * Reads the tasks of a kind that are due before `before` (milliseconds since 1970), soonest first, then by key, at
   * most `limit`. The duration MUST NOT grow with the number of tasks.
   */
  due(kind: string, before: number, limit: number): Promise<Task[]>;

  /**
   * Changes tasks in one durable step, each independently. Returns for each whether it was changed: not if its version
   * differs.
   */
  write(changes: readonly TaskChange[]): Promise<boolean[]>;

  /** Counts the tasks of a kind. */
  count(kind: string): Promise<number>;
}
