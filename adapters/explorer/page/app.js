import { deployments, openBook, Rejection } from './book.js';
import { element, quiet } from './elements.js';
import { account } from './views/account.js';
import { order } from './views/order.js';
import { newest } from './views/orders.js';
import { transaction } from './views/transaction.js';

// Where the page is stands behind the #: `#/orders/0x…`, or `#/mainnet/orders/0x…` for a book at `/mainnet`.
const main = document.getElementById('main');
const search = document.getElementById('search');
const query = document.getElementById('query');
const choice = document.getElementById('book');

const UID = /^0x[0-9a-f]{112}$/i;
const HASH = /^0x[0-9a-f]{64}$/i;
const ADDRESS = /^0x[0-9a-f]{40}$/i;

let books = [];
let current = new AbortController();

function placeOf(hash) {
  const path = decodeURIComponent(hash.replace(/^#/, '')) || '/';
  const found = books
    .filter((book) => book.path !== '/' && (path === book.path || path.startsWith(`${book.path}/`)))
    .sort((a, b) => b.path.length - a.path.length)[0];
  const book = found ?? books.find((each) => each.path === '/') ?? books[0];
  const rest = found === undefined ? path : path.slice(found.path.length);
  const [view, subject] = rest.split('/').filter(Boolean);
  return { book, view, subject, prefix: `#${book?.path === '/' ? '' : book?.path}` };
}

/** The view that a place names. */
function viewOf({ book, view, subject, prefix }, signal) {
  const opened = openBook(book);
  if (view === undefined) return newest(opened, prefix, signal);
  if (view === 'orders' && UID.test(subject)) return order(opened, prefix, subject.toLowerCase(), signal);
  if (view === 'accounts' && ADDRESS.test(subject)) return account(opened, prefix, subject.toLowerCase(), signal);
  if (view === 'transactions' && HASH.test(subject)) return transaction(opened, prefix, subject.toLowerCase(), signal);
  return Promise.resolve([element('h1', {}, 'Nothing here'), quiet('This page does not exist.')]);
}

function trouble(error) {
  const [title, text] =
    error instanceof Rejection && error.status === 404
      ? ['Not found', 'This book does not know it. Another book of this server may.']
      : ['That did not work', error.message];
  return [element('h1', {}, title), quiet(text)];
}

async function show() {
  current.abort();
  current = new AbortController();
  const { signal } = current;
  const place = placeOf(location.hash);
  if (place.book === undefined) return main.replaceChildren(quiet('This server has no order book.'));
  choice.value = place.book.path;
  main.setAttribute('aria-busy', 'true');
  let content;
  try {
    content = await viewOf(place, signal);
  } catch (error) {
    content = trouble(error);
  }
  if (signal.aborted) return;
  main.replaceChildren(...content);
  main.removeAttribute('aria-busy');
  const title = main.querySelector('h1')?.firstChild?.textContent.trim();
  document.title = `${title} · ${place.book.chain} · intentbook`;
}

function complain(text) {
  query.setCustomValidity(text);
  query.reportValidity();
}

search.addEventListener('submit', (event) => {
  event.preventDefault();
  const text = query.value.trim();
  const { prefix } = placeOf(location.hash);
  const view = UID.test(text)
    ? 'orders'
    : HASH.test(text)
      ? 'transactions'
      : ADDRESS.test(text)
        ? 'accounts'
        : undefined;
  if (view === undefined) return complain('An order UID has 112 hex digits after 0x, a transaction 64, an account 40.');
  location.hash = `${prefix}/${view}/${text.toLowerCase()}`;
  query.value = '';
  main.focus();
});
query.addEventListener('input', () => query.setCustomValidity(''));
choice.addEventListener('change', () => {
  location.hash = choice.value === '/' ? '#/' : `#${choice.value}/`;
});
document.addEventListener('keydown', (event) => {
  if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey || event.target.closest('input, select'))
    return;
  event.preventDefault();
  query.focus();
});
window.addEventListener('hashchange', show);

try {
  const deployed = await deployments();
  books = deployed.books;
  document.getElementById('deployed').textContent = `intentbook ${deployed.version}`;
  document.getElementById('docs').hidden = deployed.docs === undefined; // where the page's library is not installed
  choice.append(
    ...books.map(({ path, chain, environment }) =>
      element('option', { value: path }, environment === 'staging' ? `${chain}, staging` : chain),
    ),
  );
  choice.closest('label').hidden = books.length < 2;
  await show();
} catch (error) {
  main.replaceChildren(...trouble(error));
}
