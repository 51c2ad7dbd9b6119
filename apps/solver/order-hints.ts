import type { Address, AppDataApi, AuctionOrder, Hex } from 'intentbook';

/** The documents of orders: `book.appData`, or requests of `GET /api/v1/app_data/{hash}`. */
export type OrderDocuments = Pick<AppDataApi, 'get'>;

/** What an order needs from its settlement, in the form of the solver interface. Lacks what it does not need. */
export interface OrderHints {
  readonly flashloanHint?: Readonly<Record<'liquidityProvider' | 'protocolAdapter' | 'receiver' | 'token', Address>> & {
    readonly amount: string;
  };
  readonly wrappers?: readonly { readonly address: Address; readonly data: Hex; readonly isOmittable: boolean }[];
}

const toAddress = (text: string) => text.toLowerCase() as Address; // of a document that the book has checked

/** Reads the hints of a document that a book has accepted. */
function parseHints(document: string): OrderHints {
  // Older documents have their keys in `backend`.
  const { metadata, backend } = JSON.parse(document);
  const { flashloan, wrappers = [] } = metadata ?? backend ?? {};
  const { liquidityProvider, protocolAdapter, receiver, token, amount } = flashloan ?? {};
  return {
    ...(flashloan && {
      flashloanHint: {
        liquidityProvider: toAddress(liquidityProvider),
        protocolAdapter: toAddress(protocolAdapter),
        receiver: toAddress(receiver),
        token: toAddress(token),
        amount: String(BigInt(amount)),
      },
    }),
    ...(wrappers.length > 0 && {
      wrappers: (wrappers as Required<OrderHints>['wrappers']).map(({ address, data, isOmittable = false }) => ({
        address: toAddress(address),
        data: data.toLowerCase() as Hex, // hex in lower case
        isOmittable,
      })),
    }),
  };
}

/** Returns whether the settlement of an order must call a wrapper contract. */
export function needsWrapper({ wrappers = [] }: OrderHints): boolean {
  return wrappers.some(({ isOmittable }) => !isOmittable);
}

/**
 * Creates a function that reads the hints of orders, by the hash of their documents. An unknown document has none. A
 * document that cannot be read is missing in the result. Documents of the previous call are not read again.
 */
export function createHintReader(documents: OrderDocuments) {
  let known: ReadonlyMap<Hex, OrderHints> = new Map();
  return async (orders: readonly Pick<AuctionOrder, 'appData'>[]): Promise<ReadonlyMap<Hex, OrderHints>> => {
    const found = new Map<Hex, OrderHints>();
    const kept = new Map<Hex, OrderHints>();
    const read = async (hash: Hex): Promise<void> => {
      const previous = known.get(hash);
      const text = previous === undefined ? await documents.get(hash) : undefined;
      const hints = previous ?? parseHints(text ?? '{}');
      found.set(hash, hints);
      // An unknown document may become known.
      if (previous !== undefined || text !== undefined) kept.set(hash, hints);
    };
    await Promise.allSettled([...new Set(orders.map(({ appData }) => appData))].map(read));
    known = kept;
    return found;
  };
}
