import { VERSION } from '../../version.ts';
import { READ } from '../cost.ts';
import { jsonResponse } from '../message.ts';
import { AFFILIATE_ROUTES } from './affiliates.ts';
import { BALANCE_ROUTES } from './balances.ts';
import { DELIVERY_ROUTES } from './deliveries.ts';
import { HISTORY_ROUTES } from './history.ts';
import { MARKET_ROUTES } from './markets.ts';
import { NOTIFICATION_ROUTES } from './notifications.ts';
import type { AccountRoute } from './route.ts';
import { SUBSCRIPTION_ROUTES } from './subscriptions.ts';

/** Returns the routes of the account interface. A function, so that bundlers can drop the module if it is not used. */
export const accountRoutes = (): readonly AccountRoute[] => [
  ...NOTIFICATION_ROUTES,
  ...HISTORY_ROUTES,
  ...SUBSCRIPTION_ROUTES,
  ...DELIVERY_ROUTES,
  ...AFFILIATE_ROUTES,
  ...MARKET_ROUTES,
  ...BALANCE_ROUTES,
  getAbout,
];

/** Returns the name and the version of the software. */
const getAbout: AccountRoute = {
  method: 'GET',
  path: '/about',
  cost: READ,
  async handle() {
    return jsonResponse(200, { name: 'intentbook', version: VERSION }, { 'cache-control': 'public, max-age=600' });
  },
};
