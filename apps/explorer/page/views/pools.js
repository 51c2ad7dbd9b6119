import { copyable, element, external, note, table } from '../elements.js';
import { percent, short } from '../format.js';
import { pairLink } from '../order-table.js';
import { dollars } from '../units.js';

/** Renders the largest liquidity pools of the chain. */
export async function pools(view) {
  const { book, tokens, signal } = view;
  const found = await book.data('pools', signal);
  await tokens.load(found?.pools?.flatMap((pool) => pool.tokens ?? []) ?? [], signal);
  return [element('h1', {}, 'Pools'), ...content(found, view)];
}

function content(found, view) {
  if (found === null) return [note('This server has no account interface, which serves the pools.')];
  if (found.reason !== undefined) {
    return [note(`${found.reason}. An operator enables pools with nodes and tokens, or with a JSON document.`)];
  }
  if (found.pools.length === 0) return [note('No pool with known prices was found.')];
  const heads = ['Pair', 'Pool', 'Protocol', 'Value', 'Volume of a day', 'Fee', 'Yield per year'];
  const rows = found.pools.map(({ address, tokens, project, tvl, volume, fee, apr }) => [
    tokens === undefined ? '–' : pairLink(...tokens, view),
    [copyable(address, short(address)), ' ', external(view.book, `address/${address}`, 'Block explorer')].filter(
      Boolean,
    ),
    project,
    dollars(tvl),
    dollars(volume),
    percent(100 * fee),
    percent(100 * apr),
  ]);
  return [table('Pools', heads, rows)];
}
