import { countRows } from '../../concurrency/abort.ts';
import { parsePoolAddresses } from '../../market/index.ts';
import { fewRows, READ, readCost } from '../cost.ts';
import { parseChainId } from '../query.ts';
import { jsonResponse } from '../response.ts';
import { BODY_LIMIT } from '../route.ts';
import type { AccountRoute } from './route.ts';

const listPools: AccountRoute = {
  method: 'POST',
  path: '/:chainId/yield/pools',
  cost: readCost('pools', 'number of pools, at most 500; number of sources', fewRows),
  bodyLimit: BODY_LIMIT,
  async handle({ accounts, param, body, work }) {
    const chainId = parseChainId(param('chainId'));
    const pools = await accounts.pools.list(chainId, parsePoolAddresses(body));
    countRows(work, pools.length);
    return jsonResponse(
      200,
      pools.map(({ address, project, apr, fee, tvl, volume }) => {
        return { contract_address: address, chain_id: chainId, project, apr, fee, tvl, volume };
      }),
    );
  },
};

/** Returns the mean yield of each project. Cacheable as in production. */
const getAverageApr: AccountRoute = {
  method: 'GET',
  path: '/:chainId/yield/pools-average-apr',
  cost: { ...READ, growth: 'number of sources' },
  async handle({ accounts, param }) {
    const averages = await accounts.pools.averageApr(parseChainId(param('chainId')));
    return jsonResponse(200, averages, { 'cache-control': 'public, max-age=21600' });
  },
};

export const POOL_ROUTES: readonly AccountRoute[] = [listPools, getAverageApr];
