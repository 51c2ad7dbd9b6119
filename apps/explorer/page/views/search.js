import { searchAll } from '../api.js';
import { element, note } from '../elements.js';
import { short } from '../format.js';
import { fragment } from '../router.js';

const PATHS = {
  order: 'orders',
  settlement: 'transactions',
  account: 'accounts',
  token: 'tokens',
  auction: 'auctions',
};

/** Returns the fragment of a result. */
function placeOf({ type, path, id }) {
  return fragment(`#${path}`, `/${PATHS[type]}/${id}`);
}

/** Renders the results of a search. A single result is opened. */
export async function results({ filters, signal, site }) {
  const text = filters.get('q') ?? '';
  const found = await searchAll(text, signal);
  const [only, ...others] = found;
  if (only !== undefined && others.length === 0) {
    location.replace(placeOf(only));
    return [element('h1', {}, 'Search'), note('Opening the result…')];
  }
  const nameOf = (path) => site.books.find((book) => book.path === path)?.chain ?? path;
  const items = found.map((each) =>
    element(
      'li',
      {},
      element('a', { href: placeOf(each) }, `${each.type} ${each.label ?? short(each.id)}`),
      ` on ${nameOf(each.path)}`,
    ),
  );
  return [
    element('h1', {}, 'Search'),
    note(`${found.length} results for “${text}” in ${site.books.length === 1 ? 'this book' : 'all books'}`),
    items.length > 0
      ? element('ul', {}, ...items)
      : note(
          'An order UID has 112 hex digits after 0x, a transaction 64, an account or token 40. ',
          'An auction is a number, and a token can be found by its symbol. ',
          'The beginning of an address or UID, from 0x and 4 digits on, is found in the newest 1,000 orders.',
        ),
  ];
}
