import { promisify } from 'node:util';
import { brotliCompress, constants } from 'node:zlib';

const compress = promisify(brotliCompress);

/** Compressed bodies. All drivers of an auction receive the same one. */
const compressed = new WeakMap<Uint8Array, Promise<Uint8Array<ArrayBuffer>>>();

/** As in production: the fastest level, and a window of 4 MB. */
const PARAMS = { [constants.BROTLI_PARAM_QUALITY]: 1, [constants.BROTLI_PARAM_LGWIN]: 22 };

/** Compresses a body with Brotli, once for all callers. */
export function compressOnce(body: Uint8Array): Promise<Uint8Array<ArrayBuffer>> {
  const known = compressed.get(body) ?? compress(body, { params: PARAMS }).then((bytes) => Uint8Array.from(bytes));
  compressed.set(body, known);
  return known;
}
