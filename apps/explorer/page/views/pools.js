import { copyable, element, note, table } from '../elements.js';
import { short } from '../format.js';
import { dollars } from '../units.js';

/** Renders the largest liquidity pools of the chain. */
export async function pools({ book, signal }) {
  const found = await book.pools(signal);
  return [element('h1', {}, 'Pools'), ...content(found)];
}

function content(found) {
  if (found === null) return [note('This server has no account interface, which serves the pools.')];
  if (found.reason !== undefined) {
    return [note(`${found.reason}. An operator enables pools with nodes and tokens, or with a JSON document.`)];
  }
  if (found.pools.length === 0) return [note('No pool with known prices was found.')];
  const heads = ['Pool', 'Protocol', 'Value', 'Volume of a day', 'Fee', 'Yield per year'];
  const rows = found.pools.map(({ address, project, tvl, volume, fee, apr }) => [
    copyable(address, short(address)),
    project,
    dollars(tvl),
    dollars(volume),
    percent(fee),
    percent(apr),
  ]);
  return [table('Pools', heads, rows)];
}

const percent = (value) => `${value.toLocaleString('en-US', { maximumFractionDigits: 2 })}\u00a0%`;
