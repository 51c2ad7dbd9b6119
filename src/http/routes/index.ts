import type { Route } from '../route.ts';
import { APP_DATA_ROUTES } from './app-data.ts';
import { AUCTION_ROUTES } from './auctions.ts';
import { ORDER_ROUTES } from './orders.ts';
import { QUOTE_ROUTES } from './quotes.ts';
import { SYSTEM_ROUTES } from './system.ts';
import { TOKEN_ROUTES } from './tokens.ts';
import { TRADE_ROUTES } from './trades.ts';

export const ORDER_BOOK_ROUTES: readonly Route[] = [
  ...ORDER_ROUTES,
  ...TRADE_ROUTES,
  ...AUCTION_ROUTES,
  ...QUOTE_ROUTES,
  ...TOKEN_ROUTES,
  ...APP_DATA_ROUTES,
  ...SYSTEM_ROUTES,
];
