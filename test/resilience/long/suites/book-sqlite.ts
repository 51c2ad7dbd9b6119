import { live, lives } from '../../../property/book-commands.ts';
import { sqliteMedium } from '../../../property/book-stores.ts';
import { playFor } from '../sequences.ts';
import type { LongSuite } from '../suite.ts';

export const suite: LongSuite = {
  says: 'whatever happens to a book on SQLite, it is what the model says',
  run: (share) => playFor(share, lives, async (commands) => live(commands, sqliteMedium())),
};
