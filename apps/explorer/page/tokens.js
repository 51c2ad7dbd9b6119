import { checksummed } from './checksum.js';
import { element, svg } from './elements.js';
import { atoms, short } from './format.js';
import { fragment } from './router.js';
import { compact, dollars, exact, rounded, toNumber } from './units.js';

/** Addresses in one request. */
const BATCH = 100;

/**
 * Creates the tokens of a book: their symbols, decimals and dollar prices. Each token is read once.
 *
 * @param book - Client of the book.
 * @param {string} prefix - Start of the book's fragments.
 */
export function createTokens(book, prefix) {
  const known = new Map();
  const prices = new Map();
  const waiting = new Map();

  async function inBatches(addresses, read, store) {
    for (let i = 0; i < addresses.length; i += BATCH) {
      const batch = addresses.slice(i, i + BATCH);
      const found = await read(batch);
      for (const address of batch) store(address, found[address]);
    }
  }

  /** Reads the tokens that are not known. A failed request is repeated with the next view. */
  async function load(addresses, signal) {
    const unknown = [...new Set(addresses)].filter((address) => !known.has(address));
    await inBatches(
      unknown,
      (batch) => book.tokens(batch, signal),
      (address, token) => known.set(address, token),
    ).catch((error) => signal.aborted && Promise.reject(error));
  }

  /** Reads the prices of all amounts that were rendered, and completes them. */
  async function loadPrices(signal) {
    const unknown = [...waiting.keys()].filter((address) => !prices.has(address));
    await inBatches(
      unknown,
      (batch) => book.prices(batch, signal),
      (address, price) => prices.set(address, price),
    ).catch(() => undefined);
    for (const [address, pending] of waiting) if (prices.has(address)) for (const show of pending) show();
    waiting.clear();
  }

  const symbolOf = (address) => known.get(address)?.symbol ?? short(address);
  const decimalsOf = (address) => known.get(address)?.decimals;

  /** Renders the symbol of a token, with its address on hover and for tokens that only name themselves. */
  function symbol(address, { link = true } = {}) {
    const token = known.get(address);
    const title = [token?.name, checksummed(address), token?.listed === false ? 'not in a token list' : undefined];
    const attributes = { class: 'token', title: title.filter(Boolean).join(', ') };
    const logo = token?.logo && element('img', { class: 'icon', src: token.logo, alt: '' });
    const content = [logo ?? icon(address), symbolOf(address)];
    if (!link) return element('span', attributes, ...content);
    return element('a', { ...attributes, href: fragment(prefix, `/tokens/${address}`) }, ...content);
  }

  /** Renders an amount in whole tokens. The title has all digits. */
  function amount(value, address, { before = '', link = true } = {}) {
    const decimals = decimalsOf(address);
    const [text, title] =
      decimals === undefined
        ? [
            `${shortAtoms(value)} atoms of`,
            `${atoms(value)} atoms of ${checksummed(address)}; the decimals are not known`,
          ]
        : [rounded(value, decimals), `${exact(value, decimals)} ${symbolOf(address)} (${atoms(value)} atoms)`];
    return element('span', { class: 'amount', title }, `${before}${text} `, symbol(address, { link }));
  }

  /** Renders the value of an amount in US dollars. The element stays empty without a price. */
  function value(atomsText, address) {
    const node = element('span', { class: 'usd quiet' });
    const decimals = decimalsOf(address);
    if (decimals === undefined) return node;
    const show = () => {
      const price = prices.get(address);
      if (price !== undefined) node.textContent = ` ≈ ${dollars(price * toNumber(atomsText, decimals))}`;
    };
    if (prices.has(address)) show();
    else waiting.set(address, [...(waiting.get(address) ?? []), show]);
    return node;
  }

  return { load, loadPrices, symbol, symbolOf, decimalsOf, amount, value, priceOf: (address) => prices.get(address) };
}

/** Shortens an amount whose decimals are not known. */
function shortAtoms(value) {
  const digits = String(value);
  return digits.length <= 12 ? atoms(digits) : compact(digits);
}

/** Renders a circle with a colour that identifies the address. */
function icon(address) {
  const hue = Number.parseInt(address.slice(2, 8), 16) % 360;
  const circle = svg('circle', { cx: 5, cy: 5, r: 5, fill: `hsl(${hue} 55% 50%)` });
  return svg('svg', { viewBox: '0 0 10 10', class: 'icon', 'aria-hidden': 'true' }, circle);
}
