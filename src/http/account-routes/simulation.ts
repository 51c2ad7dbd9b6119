import { countRows } from '../../concurrency/abort.ts';
import { OrderBookError } from '../../errors.ts';
import { MAX_CALLS } from '../../market/index.ts';
import type { BodySize } from '../body.ts';
import type { RouteCost } from '../cost.ts';
import { parseChainId } from '../query.ts';
import { jsonResponse } from '../response.ts';
import type { AccountRoute } from './route.ts';

/** Maximum size of a bundle, in bytes. */
const BUNDLE_LIMIT = 256 * 1024;

/** Commas of a bundle that is parsed. A transaction has six members. */
const MAX_COMMAS = 1_000;

function checkBundle({ commas }: BodySize): void {
  if (commas > MAX_COMMAS) throw new OrderBookError('InvalidParameter', `must have 1 to ${MAX_CALLS} transactions`);
}

/** Each transaction is executed by a node, which is charged as a write. */
const SIMULATION_COST: RouteCost = {
  kind: 'write',
  rowsPerToken: 1,
  tokens: '1 per transaction',
  growth: 'number of transactions, at most 20, and their gas',
};

const simulateBundle: AccountRoute = {
  method: 'POST',
  path: '/:chainId/simulation/simulateBundle',
  cost: SIMULATION_COST,
  bodyLimit: BUNDLE_LIMIT,
  checkBody: checkBundle,
  async handle({ accounts, param, body, work }) {
    const results = await accounts.simulation.simulate(parseChainId(param('chainId')), body);
    countRows(work, results.length);
    return jsonResponse(200, results);
  },
};

export const SIMULATION_ROUTES: readonly AccountRoute[] = [simulateBundle];
