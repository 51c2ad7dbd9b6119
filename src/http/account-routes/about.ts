import { VERSION } from '../../version.ts';
import { READ } from '../cost.ts';
import { jsonResponse } from '../response.ts';
import type { AccountRoute } from './route.ts';

/** Returns the name and the version of the software. */
const getAbout: AccountRoute = {
  method: 'GET',
  path: '/about',
  cost: READ,
  async handle() {
    return jsonResponse(200, { name: 'intentbook', version: VERSION }, { 'cache-control': 'public, max-age=600' });
  },
};

export const ABOUT_ROUTES: readonly AccountRoute[] = [getAbout];
