import type { Target } from '../target.ts';
import { CHAIN_TARGETS } from './chain.ts';
import { CONFIG_TARGETS } from './config.ts';
import { HTTP_TARGETS } from './http.ts';
import { ORDER_TARGETS } from './orders.ts';
import { QUERY_TARGETS } from './queries.ts';
import { SIGNATURE_TARGETS } from './signatures.ts';
import { WEBHOOK_TARGETS } from './webhooks.ts';

/** All parsers of untrusted input. */
export const TARGETS: readonly Target[] = [
  ...ORDER_TARGETS,
  ...SIGNATURE_TARGETS,
  ...QUERY_TARGETS,
  ...CHAIN_TARGETS,
  ...WEBHOOK_TARGETS,
  ...CONFIG_TARGETS,
  ...HTTP_TARGETS,
];
