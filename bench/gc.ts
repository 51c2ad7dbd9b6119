import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collect: (options: { readonly type: 'minor' }) => void = runInNewContext('gc');

/**
 * Collects the garbage of the preparation, so that this does not take measured time. Only the young generation is
 * collected: after a full collection, the heap is small and collections are more frequent for some time.
 */
export function collectGarbage(): void {
  for (let i = 0; i < 2; i++) collect({ type: 'minor' }); // live objects are promoted after two collections
}

/** Collects all garbage, so that the size of the heap is that of live objects. */
export function collectAllGarbage(): void {
  for (let i = 0; i < 2; i++) (collect as () => void)(); // without options: a full collection
}
