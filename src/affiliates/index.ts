/**
 * Affiliate codes and their statistics.
 *
 * @module
 */

export type {
  AffiliateApi,
  AffiliateRegistration,
  AffiliatesOptions,
  AffiliateTerms,
  RegisteredAffiliate,
  RegistrationResult,
  StatisticsOptions,
} from './affiliate-api.ts';
export { affiliateRegistration } from './affiliate-api.ts';
export { createAffiliates } from './affiliates.ts';

export const loadAffiliateCsv = () => import('./csv.ts');
