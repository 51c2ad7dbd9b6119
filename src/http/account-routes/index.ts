import { listNotifications, notificationStream } from './notifications.ts';
import type { AccountRoute } from './route.ts';

/** The endpoints of the account interface. */
export const ACCOUNT_ROUTES: readonly AccountRoute[] = [listNotifications, notificationStream];
