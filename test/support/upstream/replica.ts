/** What a read of a replica returns. */
export interface ReplicaRead {
  readonly status: number;
  readonly text: string;
}

interface Version<T> {
  readonly number: number;
  readonly value: T;
}

/** A replica that does not know what happened during the last requests. */
export interface Replica {
  /** Records the response to a read, by the number of the request. */
  record(number: number, path: string, body: string, text: string): void;
  /** Returns what the replica knew `lag` requests earlier. Orders that it did not know are missing. */
  read(number: number, path: string, body: string): ReplicaRead;
}

/**
 * Creates a replica from the responses that pass a proxy: of each order the versions, and of each other read its
 * earlier responses.
 */
export function createReplica(lag: number): Replica {
  const orders = new Map<string, Version<object>[]>();
  const reads = new Map<string, Version<string>[]>();

  function findOld<T>(versions: readonly Version<T>[] | undefined, number: number): T | undefined {
    return versions?.findLast((each) => each.number <= number - lag)?.value;
  }

  function add<T>(versions: Map<string, Version<T>[]>, key: string, number: number, value: T): void {
    const list = versions.get(key) ?? [];
    list.push({ number, value });
    // Only the newest of the old versions can still be read.
    while ((list[1]?.number ?? number) <= number - lag) list.shift();
    versions.set(key, list);
  }

  return {
    record(number, path, body, text) {
      const value: unknown = JSON.parse(text);
      for (const order of listOrders(value)) add(orders, order.uid, number, order);
      if (getUids(path, body) === undefined) add(reads, path, number, text);
    },
    read(number, path, body) {
      const uids = getUids(path, body);
      const isList = path.includes('by_uids');
      const found = uids?.flatMap((uid) => findOld(orders.get(uid), number) ?? []);
      if (found !== undefined && isList) {
        return { status: 200, text: JSON.stringify(found.map((order) => ({ order }))) };
      }
      if (found !== undefined) {
        const [order] = found;
        const missing = { errorType: 'NotFound', description: 'Order was not found' };
        return { status: order === undefined ? 404 : 200, text: JSON.stringify(order ?? missing) };
      }
      return { status: 200, text: findOld(reads.get(path), number) ?? '[]' };
    },
  };
}

/** Returns the UIDs that a read requests; `undefined` for other reads. */
function getUids(path: string, body: string): string[] | undefined {
  if (path.endsWith('/orders/by_uids')) return JSON.parse(body) as string[]; // a request of the adapter
  const uid = /\/orders\/(0x[0-9a-f]{112})$/.exec(path)?.[1];
  return uid === undefined ? undefined : [uid];
}

/** Returns the orders in a response. */
function listOrders(value: unknown): { readonly uid: string }[] {
  if (Array.isArray(value)) return value.flatMap(listOrders);
  if (typeof value !== 'object' || value === null) return [];
  if ('order' in value) return listOrders(value.order);
  return 'uid' in value && typeof value.uid === 'string' && 'status' in value ? [{ ...value, uid: value.uid }] : [];
}
