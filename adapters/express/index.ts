import type { Api, OrderBook } from 'intentbook';
import { type NodeHandler, nodeHandler } from 'intentbook/node-http';

/**
 * Serves a book, or any `Api`, in an Express application (4 or 5): before or after body parsers, at the root, below a
 * path, or in nested routers. At the root, paths that do not belong to the interface are passed to the application.
 *
 * ```ts
 * app.use('/sepolia', expressRouter(book));
 * ```
 */
export function expressRouter(target: OrderBook | Api): NodeHandler {
  return nodeHandler(target);
}
