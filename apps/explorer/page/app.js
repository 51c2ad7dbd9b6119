import { openBook, Rejection, readData } from './api.js';
import { element, nameAccounts, note, updateTimes } from './elements.js';
import { fragment, parseFragment, prefixOf } from './router.js';
import { createTokens } from './tokens.js';
import { account } from './views/account.js';
import { accountOrders, accountTrades } from './views/account-history.js';
import { affiliate } from './views/affiliate.js';
import { auction, auctions } from './views/auctions.js';
import { deliveries } from './views/deliveries.js';
import { order } from './views/order.js';
import { orders } from './views/orders.js';
import { overview } from './views/overview.js';
import { pair } from './views/pair.js';
import { pools } from './views/pools.js';
import { results } from './views/search.js';
import { settlement } from './views/settlement.js';
import { token } from './views/token.js';

const main = document.getElementById('main');
const query = document.getElementById('query');
const choice = document.getElementById('book');

/** An entry or a page that does not exist. */
class NotFound extends Error {}

const UID = /^0x[0-9a-f]{112}$/;
const HASH = /^0x[0-9a-f]{64}$/;
const ADDRESS = /^0x[0-9a-f]{40}$/;
const AUCTION = /^(?:latest|\d{1,15})$/;

/** Views by the first segment, with the patterns of the following segments. The first match is rendered. */
const VIEWS = [
  [undefined, [], overview],
  ['orders', [], orders],
  ['orders', [UID], order],
  ['accounts', [ADDRESS], account],
  ['accounts', [ADDRESS, /^orders$/], accountOrders],
  ['accounts', [ADDRESS, /^trades$/], accountTrades],
  ['accounts', [ADDRESS, /^affiliate$/], affiliate],
  ['tokens', [ADDRESS], token],
  ['pairs', [ADDRESS, ADDRESS], pair],
  ['transactions', [HASH], settlement],
  ['auctions', [], auctions],
  ['auctions', [AUCTION], auction],
  ['pools', [], pools],
  ['deliveries', [], deliveries],
  ['search', [], results],
];

const PAGES = [
  ['/', 'Overview'],
  ['/orders', 'Orders'],
  ['/auctions', 'Auctions'],
  ['/pools', 'Pools'],
];

let site = { books: [] };
let clients = [];
let current = new AbortController();

function render({ segments, ...target }, signal) {
  const [name, ...given] = segments.map((segment) => segment.toLowerCase());
  const [, , view] =
    VIEWS.find(
      ([first, patterns]) =>
        first === name && patterns.length === given.length && patterns.every((pattern, i) => pattern.test(given[i])),
    ) ?? [];
  if (view === undefined) return Promise.reject(new NotFound('This page does not exist.'));
  const client = clients[site.books.indexOf(target.book)];
  return view({ ...client, filters: target.filters, site, clients, signal, NotFound }, ...given);
}

function renderError(error, prefix) {
  const isMissing = error instanceof NotFound || (error instanceof Rejection && error.status === 404);
  if (isMissing) {
    const search = 'Use the search to find it in all books, or go to the ';
    return [
      element('h1', {}, 'Not found'),
      note(error.message),
      note(search, element('a', { href: fragment(prefix, '/') }, 'overview'), '.'),
    ];
  }
  const retry = element('button', { type: 'button' }, 'Try again');
  retry.addEventListener('click', () => (site.books.length === 0 ? start() : show()));
  return [element('h1', {}, 'Request failed'), note(error.message), element('p', {}, retry)];
}

/** The inputs with text that no form has applied yet. */
const typed = new Set();
/** The page whose content is drawn, without its filters. */
let drawn = '';

main.addEventListener('input', ({ target }) => target.matches('input[name]') && typed.add(target));
main.addEventListener('change', ({ target }) => target.matches('select') && typed.clear());
main.addEventListener('submit', () => typed.clear());
main.addEventListener('click', ({ target }) => target.closest('a') && typed.clear());

/** Replaces the content. Text that was typed while the same page was read again stays, with the caret. */
function draw(page, content) {
  const kept = page === drawn ? [...typed].filter((input) => main.contains(input)) : [];
  const focused = document.activeElement;
  typed.clear();
  drawn = page;
  main.replaceChildren(...content);
  for (const { name, value, selectionStart, selectionEnd } of kept) {
    const input = main.querySelector(`input[name="${name}"]`);
    if (input === null) continue;
    input.value = value;
    typed.add(input);
    if (focused?.name !== name) continue;
    input.focus();
    input.setSelectionRange(selectionStart, selectionEnd);
  }
}

async function show() {
  current.abort();
  current = new AbortController();
  const { signal } = current;
  const target = parseFragment(location.hash, site.books);
  choice.value = target.book.path;
  showPages(target);
  main.setAttribute('aria-busy', 'true');
  let content;
  try {
    content = await render(target, signal);
  } catch (error) {
    content = renderError(error, target.prefix);
  }
  if (signal.aborted) return;
  draw([target.prefix, ...target.segments].join('/'), content);
  main.removeAttribute('aria-busy');
  const title = main.querySelector('h1')?.firstChild?.textContent.trim();
  document.title = `${title} · ${target.book.chain} · intentbook`;
  await clients[site.books.indexOf(target.book)].tokens.loadPrices(signal);
}

/** Shows the links to the pages of the book, and marks the current one. */
function showPages({ prefix, segments }) {
  const links = PAGES.map(([path, label]) => {
    const isCurrent = (segments[0] ?? '') === path.slice(1) && segments.length < 2;
    return element('a', { href: fragment(prefix, path), 'aria-current': isCurrent && 'page' }, label);
  });
  document.getElementById('pages').replaceChildren(...links);
  document.querySelector('.brand').href = fragment(prefix, '/');
}

document.getElementById('search').addEventListener('submit', (event) => {
  event.preventDefault();
  const text = query.value.trim();
  if (text === '') return;
  const { prefix } = parseFragment(location.hash, site.books);
  location.hash = fragment(prefix, '/search', { q: text });
  query.value = '';
  main.focus();
});
choice.addEventListener('change', () => {
  location.hash = `#${choice.value}/`;
});
document.addEventListener('keydown', (event) => {
  const isTyping = event.target.closest('input, select, textarea');
  if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey || isTyping) return;
  event.preventDefault();
  query.focus();
});
window.addEventListener('hashchange', show);
setInterval(() => updateTimes(main), 1000);

async function start() {
  try {
    site = await readData('site');
  } catch (error) {
    main.replaceChildren(...renderError(error, '#'));
    return;
  }
  for (const { names } of site.books) nameAccounts(names);
  clients = site.books.map((description, index) => {
    const book = openBook(description, index, site.accounts);
    const prefix = prefixOf(description);
    return { book, prefix, tokens: createTokens(book, prefix) };
  });
  document.getElementById('deployed').textContent = `intentbook ${site.version}`;
  document.getElementById('docs').hidden = site.docs !== true;
  document.getElementById('openapi').hidden = site.docs === false;
  choice.append(
    ...site.books.map(({ path, chain, environment }) =>
      element('option', { value: path }, environment === 'staging' ? `${chain}, staging` : chain),
    ),
  );
  choice.closest('label').hidden = site.books.length < 2;
  await show();
}

await start();
