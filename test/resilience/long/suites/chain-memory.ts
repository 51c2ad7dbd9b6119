import { memoryStore } from 'intentbook/memory';
import { agrees, sequence } from '../../../property/chain-replay.ts';
import { playFor } from '../sequences.ts';
import type { LongSuite } from '../suite.ts';

export const suite: LongSuite = {
  description: 'memory store with reorganisations equals a store with the canonical chain only',
  run: (share) => playFor(share, sequence, (steps) => agrees(steps, memoryStore())),
};
