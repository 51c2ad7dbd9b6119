import { createCancelFunctions } from './cancel-orders.ts';
import { createEventLogFunctions } from './event-log.ts';
import type { SqlFunction } from './function.ts';
import { createInsertFunctions } from './insert-orders.ts';

/**
 * Returns the functions of the schema of a book. Each is one statement of the client, so a write takes one round trip,
 * and a client that freezes or dies between two statements cannot keep a lock.
 */
export const createFunctions = (s: string): readonly SqlFunction[] => [
  ...createCancelFunctions(s),
  ...createInsertFunctions(s),
  ...createEventLogFunctions(s),
];
