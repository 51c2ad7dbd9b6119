import type { HttpCase } from './case.ts';
import { APP_DATA_CASES } from './cases/app-data.ts';
import { CACHING } from './cases/caching.ts';
import { CANCELLATION } from './cases/cancellation.ts';
import { CONVENTIONS } from './cases/conventions.ts';
import { QUOTING } from './cases/quoting.ts';
import { READING } from './cases/reading.ts';
import { SETTLEMENTS } from './cases/settlements.ts';
import { SUBMISSION } from './cases/submission.ts';

/** The HTTP interface as data: one list of cases, run against the core, every mount, every store and the server. */
export const HTTP_CASES: readonly HttpCase[] = [
  ...READING,
  ...CACHING,
  ...CONVENTIONS,
  ...SUBMISSION,
  ...APP_DATA_CASES,
  ...CANCELLATION,
  ...QUOTING,
  ...SETTLEMENTS,
];
