import { copyable, element, external, note, table } from '../elements.js';
import { short } from '../format.js';
import { fragment } from '../router.js';
import { dollars } from '../units.js';

/** Renders the largest liquidity pools of the chain. */
export async function pools(view) {
  const { book, tokens, signal } = view;
  const found = await book.pools(signal);
  await tokens.load(found?.pools?.flatMap((pool) => pool.tokens ?? []) ?? [], signal);
  return [element('h1', {}, 'Pools'), ...content(found, view)];
}

/** Renders the pair of a pool as a link to its orders. */
function pair(addresses, { tokens, prefix }) {
  if (addresses === undefined) return '–';
  const [first, second] = addresses;
  const name = `${tokens.symbolOf(first)} / ${tokens.symbolOf(second)}`;
  return element('a', { href: fragment(prefix, `/pairs/${first}/${second}`) }, name);
}

function content(found, view) {
  if (found === null) return [note('This server has no account interface, which serves the pools.')];
  if (found.reason !== undefined) {
    return [note(`${found.reason}. An operator enables pools with nodes and tokens, or with a JSON document.`)];
  }
  if (found.pools.length === 0) return [note('No pool with known prices was found.')];
  const heads = ['Pair', 'Pool', 'Protocol', 'Value', 'Volume of a day', 'Fee', 'Yield per year'];
  const rows = found.pools.map(({ address, tokens, project, tvl, volume, fee, apr }) => [
    pair(tokens, view),
    [copyable(address, short(address)), ' ', external(view.book, `address/${address}`, 'Block explorer')].filter(
      Boolean,
    ),
    project,
    dollars(tvl),
    dollars(volume),
    percent(fee),
    percent(apr),
  ]);
  return [table('Pools', heads, rows)];
}

const percent = (value) => `${value.toLocaleString('en-US', { maximumFractionDigits: 2 })}\u00a0%`;
