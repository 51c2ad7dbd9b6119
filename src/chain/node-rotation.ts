import type { ChainSource } from '../ports/chain-source.ts';
import { type Clock, readMonotonic } from '../ports/clock.ts';

/** Delay after a failure of all nodes, in milliseconds. It doubles up to the maximum. */
export const RETRY_DELAY = 500;
const MAX_RETRY_DELAY = 30_000;

/** Milliseconds without a new block after which the next node is used, since this one may have fallen behind. */
const STALE_AFTER = 60_000;

/**
 * Steps in a row in which each node must report a reorganisation below the limit: about a minute. One of several
 * machines behind the address of a node may be on another fork.
 */
const DIVERGED_STEPS = 8;

/** The nodes of an indexer, of which one is followed. */
export type NodeRotation = ReturnType<typeof createNodeRotation>;

/** Creates the rotation of the nodes. A node that serves another chain is used no longer. */
export function createNodeRotation(sources: readonly ChainSource[], clock: Clock) {
  /** Failures since the last step, because a node no longer has the indexed blocks. */
  const diverged = new Map<ChainSource, number>();
  let usable = sources;
  let index = 0;
  let failures = 0;
  /** When the checkpoint last moved, in milliseconds of `readMonotonic`. */
  let movedAt = readMonotonic(clock);

  return {
    get usable(): readonly ChainSource[] {
      return usable;
    },
    /** The node that is followed. `undefined`: every node serves another chain. */
    get current(): ChainSource | undefined {
      return usable[index % usable.length];
    },
    /** Records that the checkpoint has moved. */
    moved(): void {
      movedAt = readMonotonic(clock);
    },
    /** Records a step without a failure. */
    succeeded(): void {
      failures = 0;
      diverged.clear();
    },
    /** Switches to the next node if there was no new block for long. @returns false: no step can follow at once. */
    leaveStale(): false {
      if (usable.length > 1 && Math.abs(readMonotonic(clock) - movedAt) > STALE_AFTER) {
        index++;
        movedAt = readMonotonic(clock);
      }
      return false;
    },
    /** Records a reorganisation below the limit. @returns whether all nodes have it. */
    diverge(node: ChainSource): boolean {
      diverged.set(node, (diverged.get(node) ?? 0) + 1);
      return usable.every((each) => (diverged.get(each) ?? 0) >= DIVERGED_STEPS);
    },
    /** Stops to use a node that serves another chain. */
    exclude(node: ChainSource): void {
      usable = usable.filter((each) => each !== node);
    },
    /** Switches to the next node. @returns milliseconds to wait if all nodes have failed, otherwise `undefined`. */
    fail(): number | undefined {
      index++;
      failures++;
      if (failures % usable.length !== 0) return undefined;
      return Math.min(MAX_RETRY_DELAY, RETRY_DELAY * 2 ** Math.min(failures / usable.length - 1, 10));
    },
  };
}
