import { VERSION } from '../../version.ts';
import { jsonResponse } from '../response.ts';
import type { Route } from '../route.ts';

/** Which version serves which domain, as text (decision 2.29). */
export const version: Route = {
  method: 'GET',
  path: '/api/v1/version',
  async handle({ book: { chainId, settlementContract } }) {
    return {
      status: 200,
      headers: { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store' },
      body: `intentbook ${VERSION} chain ${chainId} settlement ${settlementContract}`,
    };
  },
};

/** What is deployed here (decision 2.29). */
export const root: Route = {
  method: 'GET',
  path: '/',
  async handle({ book: { chainId, settlementContract } }) {
    return jsonResponse(200, { name: 'intentbook', version: VERSION, chainId, settlementContract, api: '/api/v1' });
  },
};
