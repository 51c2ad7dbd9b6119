import { live, sequences } from '../../../property/book-commands.ts';
import { sqliteStorage } from '../../../property/book-stores.ts';
import { playFor } from '../sequences.ts';
import type { LongSuite } from '../suite.ts';

export const suite: LongSuite = {
  description: 'book on SQLite matches the model after random operations',
  run: (share) => playFor(share, sequences, async (commands) => live(commands, sqliteStorage())),
};
