import type { Address, PoolSource, PoolYield } from 'intentbook';
import {
  assertKnownOptions,
  createServiceFetch,
  parseHex,
  parseServiceUrl,
  readJsonResponse,
  requireTable,
  untilAborted,
} from '#internal';

/** Pools by chain id. Numbers are those of `PoolYield`. */
export type PoolTable = Readonly<
  Record<string, readonly (Omit<PoolYield, 'address'> & { readonly address: string })[]>
>;

/** Options of a source of pools at a URL. */
export interface JsonPoolsOptions {
  /**
   * URL of a JSON document with pools by chain id: `{ "1": [{ "address", "project", "apr", … }] }`. A user and a
   * password in it are sent as a Basic `Authorization` header only.
   */
  readonly url: string;
  /** Implementation of `fetch`. Default: the global one. */
  readonly fetch?: typeof fetch;
}

/** Maximum size of a document, in bytes. */
const MAX_BYTES = 16 * 1024 * 1024;

/** Milliseconds for which a document serves all chains. */
const LIFETIME = 60_000;

/** Maximum milliseconds of a request for the document. */
const TIMEOUT = 10_000;

const CHAIN_ID = /^[1-9]\d{0,14}$/;

/**
 * Creates a source of pools from a table by chain id.
 *
 * @throws TypeError with the pool that is malformed.
 */
export function fixedPools(table: PoolTable): PoolSource {
  const pools = parseTable(table);
  return { name: 'fixed pools', pools: (chainId) => pools.get(chainId) };
}

/**
 * Creates a source of pools from a JSON document at a URL, in the form of the table. Concurrent calls share a request.
 * Any response status besides 200 is a failure. Malformed pools are left out by the account interface, which reports
 * them. Redirects are not followed.
 *
 * @throws TypeError if an option is unknown or `url` is not an http or https URL.
 */
export function jsonPools(options: JsonPoolsOptions): PoolSource {
  assertKnownOptions('jsonPools', options, ['url', 'fetch']);
  const { url } = options;
  const send = createServiceFetch(options.fetch);
  const { base, authorization } = parseServiceUrl('jsonPools', url);
  const headers = { accept: 'application/json', ...authorization };
  /** The document, or the request for it, which all callers share. A failure is not kept. */
  let last:
    | { readonly table: Promise<Readonly<Record<number, readonly PoolYield[]>>>; readonly at: number }
    | undefined;

  async function readTable(): Promise<Readonly<Record<number, readonly PoolYield[]>>> {
    const response = await send(base, { headers, signal: AbortSignal.timeout(TIMEOUT) });
    const document = await readJsonResponse(response, 'the source of pools', MAX_BYTES);
    const isTable = typeof document === 'object' && document !== null && !Array.isArray(document);
    if (!isTable || !Object.keys(document).every((key) => CHAIN_ID.test(key))) {
      throw new TypeError('pools must be an object by chain id');
    }
    return document as Readonly<Record<number, readonly PoolYield[]>>; // the account interface checks each pool
  }

  function getTable() {
    if (last !== undefined && performance.now() - last.at < LIFETIME) return last.table;
    const current = { table: readTable(), at: performance.now() };
    last = current;
    current.table.catch(() => {
      if (last === current) last = undefined;
    });
    return current.table;
  }

  return {
    name: `pools of ${base.host}`,
    async pools(chainId, { signal }) {
      signal.throwIfAborted();
      return (await untilAborted(getTable(), signal))[chainId];
    },
  };
}

function parseTable(table: PoolTable): ReadonlyMap<number, readonly PoolYield[]> {
  return new Map(
    requireTable('fixedPools: table', table).map(([chainId, pools]) => {
      if (!CHAIN_ID.test(chainId) || !Array.isArray(pools)) {
        throw new TypeError(`pools must be lists by chain id, got "${chainId.slice(0, 40)}"`);
      }
      return [Number(chainId), pools.map(parsePool)];
    }),
  );
}

function parsePool(pool: PoolTable[string][number]): PoolYield {
  const { address: text, tokens, project, apr, fee, tvl, volume } = pool;
  const address: Address | undefined = parseHex(text, 20);
  if (address === undefined) {
    throw new TypeError(`the address of a pool must be 0x and 40 hex digits, got ${JSON.stringify(text)}`);
  }
  for (const [name, value] of Object.entries({ apr, fee, tvl, volume })) {
    if (typeof value !== 'number' || !Number.isFinite(value)) {
      throw new TypeError(`${name} of pool ${address} must be a number, got ${JSON.stringify(value)}`);
    }
  }
  if (typeof project !== 'string') throw new TypeError(`project of pool ${address} must be text`);
  return { address, ...(tokens === undefined ? {} : { tokens }), project, apr, fee, tvl, volume };
}
