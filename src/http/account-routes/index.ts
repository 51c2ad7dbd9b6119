import { ABOUT_ROUTES } from './about.ts';
import { AFFILIATE_ROUTES } from './affiliates.ts';
import { BALANCE_ROUTES } from './balances.ts';
import { DELIVERY_ROUTES } from './deliveries.ts';
import { HISTORY_ROUTES } from './history.ts';
import { MARKET_ROUTES } from './markets.ts';
import { NOTIFICATION_ROUTES } from './notifications.ts';
import { POOL_ROUTES } from './pools.ts';
import type { AccountRoute } from './route.ts';
import { SIMULATION_ROUTES } from './simulation.ts';
import { SUBSCRIPTION_ROUTES } from './subscriptions.ts';
import { TOKEN_DETAIL_ROUTES } from './tokens.ts';

/** Returns the routes of the account interface. A function, so that bundlers can drop the module if it is not used. */
export const accountRoutes = (): readonly AccountRoute[] => [
  ...NOTIFICATION_ROUTES,
  ...HISTORY_ROUTES,
  ...SUBSCRIPTION_ROUTES,
  ...DELIVERY_ROUTES,
  ...AFFILIATE_ROUTES,
  ...TOKEN_DETAIL_ROUTES,
  ...MARKET_ROUTES,
  ...SIMULATION_ROUTES,
  ...POOL_ROUTES,
  ...BALANCE_ROUTES,
  ...ABOUT_ROUTES,
];
