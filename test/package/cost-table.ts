import { accountRoutes } from '../../src/http/account-routes/index.ts';
import type { Endpoint } from '../../src/http/route.ts';
import { ORDER_BOOK_ROUTES } from '../../src/http/routes/index.ts';
import { PROBE_ROUTES } from '../../src/http/routes/system.ts';

/** The cost of a route for people: the bucket that pays, the tokens, and what the work grows with. */
export interface CostRow {
  readonly endpoint: string;
  readonly bucket: string;
  readonly tokens: string;
  readonly growth: string;
  readonly cost: Endpoint['cost'];
  readonly isStream: boolean;
}

/** Returns the cost of every route of both interfaces. */
export function listCosts(): CostRow[] {
  return [...ORDER_BOOK_ROUTES, ...PROBE_ROUTES, ...accountRoutes()].map(toCostRow);
}

function toCostRow({ method, path, cost, stream = false }: Endpoint): CostRow {
  const { kind, tokens = '1', growth = 'constant' } = cost;
  const isFree = kind === 'free';
  return {
    endpoint: `${method} ${path.replace(/:(\w+)/g, '{$1}')}`,
    bucket: isFree ? 'none' : `${kind}s`,
    tokens: isFree ? '0' : tokens,
    growth,
    cost,
    isStream: stream,
  };
}
