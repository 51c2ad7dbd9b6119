import type { World } from './world.ts';

/** A black-box scenario. It uses HTTP and the chain only. */
export interface Scenario {
  /** What the scenario shows, in one line. */
  readonly shows: string;
  /** Part of `npm test`. The others run in `npm run test:long -- --suite scenarios`. Default: false. */
  readonly isFast?: boolean;
  run(world: World): Promise<void>;
}
