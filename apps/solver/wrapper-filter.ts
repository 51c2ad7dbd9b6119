import type { AuctionOrder } from 'intentbook';
import { type Metadata, readMetadata, requireFunctions } from '#internal';
import { createMetadataReader, type OrderDocuments } from './metadata-reader.ts';
import type { SolverEngine } from './types.ts';

const hasWrapper = ({ wrappers }: Metadata) => wrappers.some(({ isOmittable }) => !isOmittable);

/** Returns whether the document of an order names a wrapper contract that its settlement must call. */
export async function requiresWrapper(
  { appData }: Pick<AuctionOrder, 'appData'>,
  documents: OrderDocuments,
): Promise<boolean> {
  return hasWrapper(readMetadata((await documents.get(appData)) ?? null));
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
  const read = createMetadataReader(documents);
  return {
    name: engine.name,
    async solve(auction, signal) {
      const metadata = await read(auction.orders);
      const isPlain = ({ appData }: AuctionOrder) => {
        const found = metadata.get(appData);
        return found !== undefined && !hasWrapper(found);
      };
      return engine.solve({ ...auction, orders: auction.orders.filter(isPlain) }, signal);
    },
  };
}
