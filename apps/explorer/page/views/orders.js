import { code, element, note } from '../elements.js';
import { STATUSES } from '../format.js';
import { fragment } from '../router.js';
import { orderList } from './order-list.js';

const FILTERS = ['status', 'kind', 'sellToken', 'buyToken', 'owner'];

const ADDRESS = /^0x[0-9a-f]{40}$/;

/** Renders the orders of a book, with filters that are kept in the URL. */
export async function orders(view) {
  const filters = {};
  for (const name of FILTERS) {
    const value = view.filters.get(name);
    if (value) filters[name] = name === 'status' ? value : value.toLowerCase();
  }
  const { live, content } = await orderList(view, filters, 'Orders', emptyState(view, filters));
  return [element('h1', {}, 'Orders ', live), filterForm(view, filters), content];
}

function filterForm({ prefix, book }, filters) {
  const choice = (name, label, options) =>
    element(
      'label',
      {},
      label,
      element(
        'select',
        { name },
        ...options.map(([value, text]) =>
          element('option', { value, selected: (filters[name] ?? '') === value }, text),
        ),
      ),
    );
  const address = (name, label, placeholder) =>
    element(
      'label',
      { class: 'wide' },
      label,
      element('input', { name, value: filters[name], placeholder, spellcheck: 'false' }),
    );
  const statuses = Object.entries(STATUSES).map(([value, [label]]) => [value, label]);
  const form = element(
    'form',
    { class: 'filters', 'aria-label': 'Filters' },
    choice('status', 'Status', [['', 'any'], ...statuses]),
    choice('kind', 'Kind', [
      ['', 'any'],
      ['sell', 'sell'],
      ['buy', 'buy'],
    ]),
    address('sellToken', 'Sell token', '0x… or symbol'),
    address('buyToken', 'Buy token', '0x… or symbol'),
    address('owner', 'Account', '0x…'),
    element('button', { type: 'submit' }, 'Filter'),
    element('a', { href: `${prefix}/orders`, class: 'button' }, 'Clear'),
  );
  async function apply() {
    const values = Object.fromEntries([...new FormData(form)].map(([name, value]) => [name, value.trim()]));
    for (const name of ['sellToken', 'buyToken', 'owner']) {
      const input = form.elements[name];
      const value = await book.resolve(values[name], name === 'owner');
      input.setCustomValidity(value === '' || ADDRESS.test(value) ? '' : 'This must be an address or a known symbol.');
      values[name] = value;
    }
    if (form.reportValidity()) location.hash = fragment(prefix, '/orders', values);
  }
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    void apply();
  });
  form.addEventListener('change', ({ target }) => target.matches('select') && void apply());
  form.addEventListener('input', ({ target }) => target.setCustomValidity(''));
  return form;
}

/** Explains why a list is empty, and how to submit an order. */
export function emptyState({ prefix, site, book }, filters) {
  if (Object.keys(filters).length > 0) {
    return note('No order matches these filters. ', element('a', { href: `${prefix}/orders` }, 'Show all orders'), '.');
  }
  const request = `curl -X POST ${book.url}/orders \\
  -H 'content-type: application/json' --data @order.json`;
  return element(
    'section',
    { class: 'empty' },
    element('h2', {}, 'No orders yet'),
    note('Orders appear here when they are submitted. A signed order is submitted with a POST request:'),
    element('pre', { tabindex: 0 }, code(request)),
    site.docs && note(element('a', { href: 'docs' }, 'The API reference'), ' describes the fields of an order.'),
  );
}
