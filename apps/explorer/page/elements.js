import { checksummed } from './checksum.js';
import { ago, short, time } from './format.js';

/**
 * Creates an element. Text is set as text and never parsed as markup, so that content of orders cannot run.
 *
 * @param {string} tag
 * @param {Record<string, unknown>} [attributes] `on…` adds a listener; `false`, `null` and `undefined` are omitted.
 * @param {...(Node | string | number | null | undefined | false)} children
 */
export function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? '' : String(value));
  }
  node.append(...children.filter((child) => child !== undefined && child !== null && child !== false));
  return node;
}

/** Creates an element of an image. */
export function svg(tag, attributes, ...children) {
  const node = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, String(value));
  node.append(...children);
  return node;
}

/** Creates a description list. Terms without a description are omitted. */
export function descriptionList(entries) {
  const present = entries.filter(([, description]) => description !== undefined && description !== null);
  const rows = present.map(([term, description]) =>
    element('div', {}, element('dt', {}, term), element('dd', {}, ...[description].flat())),
  );
  return element('dl', { class: 'properties' }, ...rows);
}

export function section(title, ...children) {
  return element('section', {}, element('h2', {}, title), ...children);
}

export function note(...content) {
  return element('p', { class: 'quiet' }, ...content);
}

/** Creates a value with a button that copies the complete value. An address has its checksum. */
export function copyable(value, shown = value) {
  const text = checksummed(value);
  const button = element('button', { type: 'button', class: 'copy', 'aria-label': `Copy ${text}` }, 'copy');
  button.addEventListener('click', async () => {
    await navigator.clipboard.writeText(text);
    announce('Copied');
    button.textContent = 'copied';
  });
  return element('span', { class: 'copied' }, typeof shown === 'string' ? code(shown) : shown, ' ', button);
}

export function code(text, attributes = {}) {
  return element('code', attributes, checksummed(text));
}

/** Creates a relative time with the date on hover. */
export function timeElement(milliseconds) {
  const iso = Number.isNaN(milliseconds) ? undefined : new Date(milliseconds).toISOString();
  return element('time', { datetime: iso, title: time(milliseconds) }, ago(milliseconds));
}

/** Creates a date with the relative time beside it. */
export function dateElement(milliseconds) {
  return element('span', {}, time(milliseconds), ' (', timeElement(milliseconds), ')');
}

/** Updates the relative times of a node. */
export function updateTimes(node) {
  for (const each of node.querySelectorAll('time[datetime]')) {
    const text = ago(Date.parse(each.dateTime));
    if (each.textContent !== text) each.textContent = text;
  }
}

/** Creates a link to the block explorer of a chain, or nothing without one. */
export function external(book, path, label) {
  if (book.blockExplorer === undefined) return undefined;
  const attributes = { href: `${book.blockExplorer}/${path}`, class: 'external', rel: 'noreferrer noopener' };
  return element('a', { ...attributes, target: '_blank' }, `${label} ↗`);
}

/** Creates a link with a shortened UID or hash, and the complete one on hover. */
export function hexLink(href, hex, ends) {
  return element('a', { href, title: hex, class: 'hex' }, short(hex, ends));
}

/**
 * Creates a button that reads the next page of a list, and again after a failure. `load` reads the first page.
 *
 * @param {() => Promise<boolean>} readPage - Reads and shows a page. Returns whether there is another one.
 */
export function moreButton(label, readPage) {
  const more = element('button', { type: 'button', class: 'more', hidden: true, onclick: load }, label);
  let isFirst = true;
  async function load() {
    more.disabled = true;
    try {
      more.hidden = !(await readPage());
      more.textContent = label;
      isFirst = false;
    } catch (error) {
      if (isFirst) throw error;
      more.textContent = 'The request failed. Try again';
    } finally {
      more.disabled = false;
    }
  }
  return { more, load };
}

/** Names of accounts and contracts, by address. */
const names = new Map();

/** Adds names of accounts, by address in lower case. */
export function nameAccounts(named) {
  for (const [address, name] of Object.entries(named)) names.set(address, name);
}

/** Returns the name of an account, if it has one. */
export const nameOf = (address) => names.get(address.toLowerCase());

/** Creates a link to an account: its name or its short address, with the complete address on hover. */
export function accountLink(address, prefix, shown) {
  const name = nameOf(address);
  const text = checksummed(shown ?? short(address));
  return element(
    'a',
    { href: `${prefix}/accounts/${address}`, title: checksummed(address), class: name === undefined && 'hex' },
    ...(name === undefined
      ? [text]
      : shown === undefined
        ? [name]
        : [`${name} `, element('span', { class: 'hex' }, text)]),
  );
}

/** Creates a table. Cells of a row are text or elements; on a narrow screen each has the label of its column. */
export function table(caption, heads, rows) {
  const head = element('tr', {}, ...heads.map((text) => element('th', { scope: 'col' }, text)));
  const body = element('tbody', {}, ...rows.map((cells) => tableRow(heads, cells)));
  const hidden = element('caption', { class: 'hidden' }, caption);
  return element('table', {}, hidden, element('thead', {}, head), body);
}

export function tableRow(heads, cells) {
  const contents = cells.map((content, i) => element('td', { 'data-label': heads[i] }, ...[content].flat()));
  return element('tr', {}, ...contents);
}

/** Creates a table, or a note if it has no rows. */
export function tableOrNote(empty, caption, heads, rows) {
  return rows.length === 0 ? note(empty) : table(caption, heads, rows);
}

/** Announces a text to screen readers. */
export function announce(text) {
  document.getElementById('announcement').textContent = text;
}

/** Creates the label of a live view: `live`, or how the view is updated otherwise. */
export function liveLabel() {
  const node = element('span', { class: 'live', role: 'status' });
  const state = (text) => {
    node.textContent = text;
    node.classList.toggle('on', text === 'live');
  };
  return { node, state };
}
