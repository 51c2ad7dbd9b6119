import type { AppDataApi, AuctionOrder, Hex } from 'intentbook';
import { requireFunctions } from '#internal';
import type { SolverEngine } from './types.ts';

/** The hash of orders without a document. */
const NO_DOCUMENT: Hex = `0x${'00'.repeat(32)}`;

/** Returns whether the document of an order names a wrapper contract that its settlement must call. */
export async function requiresWrapper(
  { appData }: Pick<AuctionOrder, 'appData'>,
  documents: Pick<AppDataApi, 'get'>,
): Promise<boolean> {
  if (appData === NO_DOCUMENT) return false;
  // The book has checked the document. Older documents have their keys in `backend`.
  const { metadata, backend } = JSON.parse((await documents.get(appData)) ?? '{}');
  const { wrappers = [] } = metadata ?? backend ?? {};
  return wrappers.some(({ isOmittable = false }) => !isOmittable);
}

/**
 * Creates an engine that leaves out orders whose app data names a wrapper contract that their settlement must call:
 * the settlements of this package call none. An order whose document cannot be read is left out as well.
 *
 * @param engine - Receives the other orders.
 * @param documents - `book.appData`, or requests of `GET /api/v1/app_data/{hash}`. `undefined`: an unknown document.
 * @throws TypeError if an argument is malformed.
 */
export function createWrapperFilter(engine: SolverEngine, documents: Pick<AppDataApi, 'get'>): SolverEngine {
  requireFunctions('createWrapperFilter: engine', engine, ['solve']);
  requireFunctions('createWrapperFilter: documents', documents, ['get']);
  /** Documents of the last auction that require no wrapper. */
  let plain: ReadonlySet<Hex> = new Set();

  return {
    name: engine.name,
    async solve(auction, signal) {
      const hashes = [...new Set(auction.orders.map(({ appData }) => appData))];
      const isPlain = async (appData: Hex) =>
        plain.has(appData) || !(await requiresWrapper({ appData }, documents).catch(() => true));
      const found = await Promise.all(hashes.map(isPlain));
      plain = new Set(hashes.filter((_, i) => found[i]));
      return engine.solve({ ...auction, orders: auction.orders.filter(({ appData }) => plain.has(appData)) }, signal);
    },
  };
}
