import { sqliteStore } from 'intentbook/sqlite';
import { temporaryFile } from '../../../integration/stores/temporary.ts';
import { agrees, sequence } from '../../../property/chain-replay.ts';
import { playFor } from '../sequences.ts';
import type { LongSuite } from '../suite.ts';

export const suite: LongSuite = {
  description: 'SQLite store with reorganisations equals a store with the canonical chain only',
  run: (share) =>
    playFor(share, sequence, async (steps) => {
      using file = temporaryFile();
      await agrees(steps, sqliteStore({ path: file.path, synchronous: 'OFF' }));
    }),
};
