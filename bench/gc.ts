import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collect: (options: { readonly type: 'minor' }) => void = runInNewContext('gc');

/**
 * Has the collector take away what making the work has left behind, so that nobody's measured time is spent on it. Only
 * what is young: after a full collection a process begins again with little room, and collects more often for a while.
 */
export function collectGarbage(): void {
  for (let i = 0; i < 2; i++) collect({ type: 'minor' }); // what is alive is no longer young after two
}
