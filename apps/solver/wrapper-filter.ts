import type { AuctionOrder } from 'intentbook';
import { requireFunctions } from '#internal';
import { createHintReader, needsWrapper, type OrderDocuments } from './order-hints.ts';
import type { SolverEngine } from './types.ts';

/**
 * Returns whether the document of an order names a wrapper contract that its settlement must call. Also true if the
 * document cannot be read.
 */
export async function requiresWrapper(
  order: Pick<AuctionOrder, 'appData'>,
  documents: OrderDocuments,
): Promise<boolean> {
  const hints = (await createHintReader(documents)([order])).get(order.appData);
  return hints === undefined || needsWrapper(hints);
}

/**
 * Creates an engine that leaves out orders whose app data names a wrapper contract that their settlement must call:
 * the settlements of this package call none. An order whose document cannot be read is left out as well.
 *
 * @param engine - Receives the other orders.
 * @param documents - `book.appData`, or requests of `GET /api/v1/app_data/{hash}`. `undefined`: an unknown document.
 * @throws TypeError if an argument is malformed.
 */
export function createWrapperFilter(engine: SolverEngine, documents: OrderDocuments): SolverEngine {
  requireFunctions('createWrapperFilter: engine', engine, ['solve']);
  requireFunctions('createWrapperFilter: documents', documents, ['get']);
  const readHints = createHintReader(documents);
  return {
    name: engine.name,
    async solve(auction, signal) {
      const hints = await readHints(auction.orders);
      const isPlain = ({ appData }: AuctionOrder) => {
        const found = hints.get(appData);
        return found !== undefined && !needsWrapper(found);
      };
      return engine.solve({ ...auction, orders: auction.orders.filter(isPlain) }, signal);
    },
  };
}
