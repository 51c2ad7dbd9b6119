import type { Address, AffiliateStatistics, StatisticsCall, StatisticsResponse } from 'intentbook';
import { createServiceFetch, getEndpoint, parseServiceUrl, readJsonResponse } from '#internal';

/** Maximum size of a response, in bytes. */
const MAX_BYTES = 4 * 1024 * 1024;

/**
 * Creates a source of affiliate statistics over HTTP: `GET <url>/affiliate-stats/<address>`, `trader-stats` and
 * `trader-activity`. Status 404 means that there are none; any other status than 200 is a failure. Redirects are not
 * followed.
 */
export function httpStatistics(url: string): AffiliateStatistics {
  const service = parseServiceUrl('affiliateStatistics', url);
  const send = createServiceFetch();

  const read =
    (name: string) =>
    async (address: Address, { signal }: StatisticsCall): Promise<StatisticsResponse | undefined> => {
      const headers = { accept: 'application/json', ...service.authorization };
      const response = await send(getEndpoint(service, `${name}/${address}`), { headers, signal });
      const statistics = await readJsonResponse(response, 'the source of affiliate statistics', MAX_BYTES, [404]);
      if (statistics === undefined) return undefined;
      if (typeof statistics !== 'object' || statistics === null || Array.isArray(statistics)) {
        throw new Error('the source of affiliate statistics must return an object');
      }
      return statistics as StatisticsResponse; // an object has any members
    };

  return {
    affiliate: read('affiliate-stats'),
    trader: read('trader-stats'),
    traderActivity: read('trader-activity'),
  };
}
