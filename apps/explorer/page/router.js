// The fragment selects the view: `#/orders/0x…?…`, or `#/mainnet/orders/0x…` for a book at `/mainnet`.

/** Decodes a part of a fragment. A text that is not percent-encoded UTF-8 is returned as it is. */
function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/**
 * Parses a fragment: the book, the segments after its path, and the filters. Never throws.
 *
 * @param {string} hash
 * @param {readonly { path: string }[]} books
 */
export function parseFragment(hash, books) {
  const [path = '', query = ''] = hash.replace(/^#/, '').split('?', 2);
  const segments = path.split('/').filter(Boolean).map(decode);
  const joined = `/${segments.join('/')}`;
  const matching = books
    .filter((book) => book.path !== '' && (joined === book.path || joined.startsWith(`${book.path}/`)))
    .sort((a, b) => b.path.length - a.path.length)[0];
  const book = matching ?? books.find((each) => each.path === '') ?? books[0];
  const rest = matching === undefined ? segments : segments.slice(matching.path.split('/').length - 1);
  return { book, segments: rename(rest), filters: new URLSearchParams(query), prefix: prefixOf(book) };
}

/** The names of views in links of CoW Swap. */
const RENAMED = new Map([
  ['address', 'accounts'],
  ['tx', 'transactions'],
]);

/** Converts a link of CoW Swap, such as `sepolia/address/0x…` or `tx/0x…`: its network comes first. */
function rename(segments) {
  const [name, ...rest] = /^(?:orders|address|tx)$/.test(segments[1]) ? segments.slice(1) : segments;
  return name === undefined ? [] : [RENAMED.get(name) ?? name, ...rest];
}

/** Returns the start of the fragments of a book. */
export function prefixOf(book) {
  return `#${book?.path ?? ''}`;
}

/** Creates a fragment with filters. Empty filters are left out. */
export function fragment(prefix, path, filters = {}) {
  const query = new URLSearchParams(Object.entries(filters).filter(([, value]) => value !== undefined && value !== ''));
  return `${prefix}${path}${query.size === 0 ? '' : `?${query}`}`;
}
