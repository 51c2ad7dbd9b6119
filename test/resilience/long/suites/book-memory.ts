import { live, sequences } from '../../../property/book-commands.ts';
import { memoryStorage } from '../../../property/book-stores.ts';
import { playFor } from '../sequences.ts';
import type { LongSuite } from '../suite.ts';

export const suite: LongSuite = {
  description: 'book on the memory store matches the model after random operations',
  run: (share) => playFor(share, sequences, async (commands) => live(commands, memoryStorage())),
};
