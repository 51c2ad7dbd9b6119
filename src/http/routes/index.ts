import type { Route } from '../route.ts';
import { accountOrders } from './account-orders.ts';
import { auction } from './auction.ts';
import { deleteOrder } from './delete-order.ts';
import { deleteOrders } from './delete-orders.ts';
import { getAppData } from './get-app-data.ts';
import { getOrder } from './get-order.ts';
import { listOrders } from './list-orders.ts';
import { orderStream } from './order-stream.ts';
import { ordersByUids } from './orders-by-uids.ts';
import { postOrder } from './post-order.ts';
import { postQuote } from './post-quote.ts';
import { live, ready, serverReady } from './probes.ts';
import { putAppData, putAppDataByHash } from './put-app-data.ts';
import { quoteStream } from './quote-stream.ts';
import { orderStatus, totalSurplus, transactionOrders } from './settlements.ts';
import { competitions, recordCompetition, restrictedCompetition } from './solver-competition.ts';
import { nativePrice, tokenMetadata } from './tokens.ts';
import { tradesV1, tradesV2 } from './trades.ts';
import { root, version } from './version.ts';

/** The endpoints of the order book interface. */
export const ORDER_BOOK_ROUTES: readonly Route[] = [
  postOrder,
  listOrders,
  orderStream,
  deleteOrders,
  ordersByUids,
  getOrder,
  deleteOrder,
  accountOrders,
  orderStatus,
  transactionOrders,
  tradesV1,
  tradesV2,
  totalSurplus,
  auction,
  ...competitions,
  restrictedCompetition,
  recordCompetition,
  postQuote,
  quoteStream,
  nativePrice,
  tokenMetadata,
  putAppData,
  putAppDataByHash,
  getAppData,
  version,
  ready,
  root,
];

/** What a standalone server answers besides. */
export const PROBE_ROUTES: readonly Route[] = [serverReady, live];
