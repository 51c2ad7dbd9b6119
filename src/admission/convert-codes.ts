import { lazy } from '../concurrency/lifecycle.ts';
import type { OrderBookError } from '../errors.ts';
import type { Rules } from '../protocol/profile.ts';

/** Gives the rejection of a result the code of the profile. Other results are returned unchanged. */
export type ConvertCodes = <R extends { readonly status?: string; readonly error?: OrderBookError }>(
  result: R,
) => Promise<R>;

/** Creates the conversion of rejections. The codes of the production profile are loaded on first use. */
export function createCodeConverter({ codes }: Pick<Rules, 'codes'>): ConvertCodes {
  const production = lazy(() => import('./production-error.ts'));
  return async (result) => {
    const { error } = result;
    if (codes === 'specification' || error === undefined) return result;
    return production.use(async ({ toProductionError }) => ({ ...result, error: toProductionError(error) }));
  };
}
