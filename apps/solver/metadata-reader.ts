import type { AppDataApi, AuctionOrder, Hex } from 'intentbook';
import { type Metadata, readMetadata } from '#internal';

/** The documents of orders: `book.appData`, or requests of `GET /api/v1/app_data/{hash}`. */
export type OrderDocuments = Pick<AppDataApi, 'get'>;

/**
 * Creates a function that reads the metadata of orders, by the hash of their documents. An unknown document has none.
 * A document that cannot be read is missing in the result. Documents of the previous call are not read again.
 */
export function createMetadataReader(documents: OrderDocuments) {
  let known: ReadonlyMap<Hex, Metadata> = new Map();
  return async (orders: readonly Pick<AuctionOrder, 'appData'>[]): Promise<ReadonlyMap<Hex, Metadata>> => {
    const found = new Map<Hex, Metadata>();
    const kept = new Map<Hex, Metadata>();
    const read = async (hash: Hex): Promise<void> => {
      const previous = known.get(hash);
      const text = previous === undefined ? await documents.get(hash) : undefined;
      const metadata = previous ?? readMetadata(text ?? null);
      found.set(hash, metadata);
      // An unknown document may become known.
      if (previous !== undefined || text !== undefined) kept.set(hash, metadata);
    };
    await Promise.allSettled([...new Set(orders.map(({ appData }) => appData))].map(read));
    known = kept;
    return found;
  };
}
