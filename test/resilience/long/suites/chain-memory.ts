import { memoryStore } from 'intentbook/memory';
import { agrees, sequence } from '../../../property/chain-play.ts';
import { playFor } from '../sequences.ts';
import type { LongSuite } from '../suite.ts';

export const suite: LongSuite = {
  description: 'a memory store that has lived through reorganisations equals one that knows the canonical chain only',
  run: (share) => playFor(share, sequence, (steps) => agrees(steps, memoryStore())),
};
