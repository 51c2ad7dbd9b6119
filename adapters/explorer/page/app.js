import { deployments, openBook, Rejection } from './book.js';
import { element, note } from './elements.js';
import { account } from './views/account.js';
import { order } from './views/order.js';
import { newest } from './views/orders.js';
import { transaction } from './views/transaction.js';

// The fragment selects the view: `#/orders/0x…`, or `#/mainnet/orders/0x…` for a book at `/mainnet`.
const main = document.getElementById('main');
const search = document.getElementById('search');
const query = document.getElementById('query');
const choice = document.getElementById('book');

const UID = /^0x[0-9a-f]{112}$/i;
const HASH = /^0x[0-9a-f]{64}$/i;
const ADDRESS = /^0x[0-9a-f]{40}$/i;

let books = [];
let current = new AbortController();

function parseFragment(hash) {
  const path = decodeURIComponent(hash.replace(/^#/, '')) || '/';
  const matching = books
    .filter((book) => book.path !== '/' && (path === book.path || path.startsWith(`${book.path}/`)))
    .sort((a, b) => b.path.length - a.path.length)[0];
  const book = matching ?? books.find((each) => each.path === '/') ?? books[0];
  const rest = matching === undefined ? path : path.slice(matching.path.length);
  const [view, subject] = rest.split('/').filter(Boolean);
  return { book, view, subject, prefix: `#${book?.path === '/' ? '' : book?.path}` };
}

/** Renders the view that a fragment selects. */
function renderView({ book, view, subject, prefix }, signal) {
  const opened = openBook(book);
  if (view === undefined) return newest(opened, prefix, signal);
  if (view === 'orders' && UID.test(subject)) return order(opened, prefix, subject.toLowerCase(), signal);
  if (view === 'accounts' && ADDRESS.test(subject)) return account(opened, prefix, subject.toLowerCase(), signal);
  if (view === 'transactions' && HASH.test(subject)) return transaction(opened, prefix, subject.toLowerCase(), signal);
  return Promise.resolve([element('h1', {}, 'Page not found'), note('This page does not exist.')]);
}

function renderError(error) {
  const [title, text] =
    error instanceof Rejection && error.status === 404
      ? ['Not found', 'This book has no such entry. Another book of this server may have it.']
      : ['Request failed', error.message];
  return [element('h1', {}, title), note(text)];
}

async function show() {
  current.abort();
  current = new AbortController();
  const { signal } = current;
  const target = parseFragment(location.hash);
  if (target.book === undefined) return main.replaceChildren(note('This server has no order book.'));
  choice.value = target.book.path;
  main.setAttribute('aria-busy', 'true');
  let content;
  try {
    content = await renderView(target, signal);
  } catch (error) {
    content = renderError(error);
  }
  if (signal.aborted) return;
  main.replaceChildren(...content);
  main.removeAttribute('aria-busy');
  const title = main.querySelector('h1')?.firstChild?.textContent.trim();
  document.title = `${title} · ${target.book.chain} · intentbook`;
}

function reportInvalid(text) {
  query.setCustomValidity(text);
  query.reportValidity();
}

search.addEventListener('submit', (event) => {
  event.preventDefault();
  const text = query.value.trim();
  const { prefix } = parseFragment(location.hash);
  const view = UID.test(text)
    ? 'orders'
    : HASH.test(text)
      ? 'transactions'
      : ADDRESS.test(text)
        ? 'accounts'
        : undefined;
  if (view === undefined) {
    return reportInvalid('An order UID has 112 hex digits after 0x, a transaction 64, an account 40.');
  }
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
  document.getElementById('docs').hidden = deployed.docs === undefined; // hidden if the API reference is not installed
  choice.append(
    ...books.map(({ path, chain, environment }) =>
      element('option', { value: path }, environment === 'staging' ? `${chain}, staging` : chain),
    ),
  );
  choice.closest('label').hidden = books.length < 2;
  await show();
} catch (error) {
  main.replaceChildren(...renderError(error));
}
