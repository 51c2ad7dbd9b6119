import { AFFILIATE_ROUTES } from './affiliates.ts';
import { BALANCE_ROUTES } from './balances.ts';
import { listNotifications, notificationStream } from './notifications.ts';
import type { AccountRoute } from './route.ts';
import { SUBSCRIPTION_ROUTES } from './subscriptions.ts';
import { usdPrice } from './usd-price.ts';

/** The endpoints of the account interface. A function, so that bundlers see that nothing is done by loading it. */
export const accountRoutes = (): readonly AccountRoute[] => [
  listNotifications,
  notificationStream,
  ...SUBSCRIPTION_ROUTES,
  ...AFFILIATE_ROUTES,
  usdPrice,
  ...BALANCE_ROUTES,
];
