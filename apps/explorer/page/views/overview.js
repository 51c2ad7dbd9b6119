import { shareChart, timeChart } from '../charts.js';
import { accountLink, element, note, section } from '../elements.js';
import { duration, plural, STATUSES } from '../format.js';
import { fragment } from '../router.js';
import { dollars, toNumber } from '../units.js';
import { orderList } from './order-list.js';
import { emptyState } from './orders.js';

/** Minutes of each bar and number of bars, by range. */
const RANGES = { hour: [1, 60], day: [30, 48] };

/** Upper limits of fill times, in milliseconds. */
const FILL_TIMES = [1_000, 5_000, 15_000, 60_000, 300_000, Number.POSITIVE_INFINITY];

/** Renders the start page: charts and the newest orders. */
export async function overview(view) {
  const { book, tokens, prefix, signal, filters } = view;
  const range = filters.get('range') === 'day' ? 'day' : 'hour';
  const [summary, newest] = await Promise.all([
    book.data('overview', signal),
    orderList(view, {}, 'Newest orders', emptyState(view, {})),
  ]);
  const sold = summary.tokens.map(({ token }) => token);
  await tokens.load(sold, signal);
  const prices = sold.length === 0 ? {} : await book.prices(sold, signal).catch(() => ({}));
  const other = range === 'day' ? ['hour', 'Last hour'] : ['day', 'Last day'];
  const link = element('a', { href: fragment(prefix, '/', { range: other[0] }) }, other[1]);
  return [
    element('h1', {}, 'Overview ', newest.live),
    element(
      'div',
      { class: 'charts' },
      section(`Orders and fills in the last ${range}`, activity(summary, range), link),
      section(`Status of the newest ${summary.sample} orders`, statuses(summary, prefix)),
      section('Time to fill', fillTimes(summary.fillTimes)),
      section('Volume by token', volume(summary, tokens, prices)),
      section('Auctions won by solver', solvers(summary, prefix)),
    ),
    section(
      'Newest orders',
      newest.content,
      element('p', {}, element('a', { href: fragment(prefix, '/orders') }, 'All orders and filters')),
    ),
  ];
}

function activity({ now, minutes }, range) {
  const [size, count] = RANGES[range];
  const last = Math.floor(now / 60_000 / size);
  const created = new Array(count).fill(0);
  const fills = new Array(count).fill(0);
  for (const entry of minutes) {
    const slot = Math.floor(entry.minute / size) - last + count - 1;
    if (slot < 0 || slot >= count) continue;
    created[slot] += entry.created;
    fills[slot] += entry.fills;
  }
  const series = [
    { name: 'orders', values: created },
    { name: 'fills', values: fills },
  ];
  const timeOf = (slot) =>
    new Date((last - count + 1 + slot) * size * 60_000).toLocaleTimeString(undefined, { timeStyle: 'short' });
  const [orders, filled] = series.map(({ values }) => values.reduce((sum, value) => sum + value, 0));
  return timeChart(`${plural(orders, 'order')} and ${plural(filled, 'fill')} in the last ${range}`, series, timeOf);
}

function statuses({ statuses: counts }, prefix) {
  const entries = Object.entries(STATUSES).filter(([status]) => counts[status] !== undefined);
  return shareChart(
    entries.map(([status, [label]]) => ({
      label: element('a', { href: fragment(prefix, '/orders', { status }), class: `status ${status}` }, label),
      value: counts[status],
      text: String(counts[status]),
    })),
    'No orders yet.',
  );
}

function fillTimes(times) {
  if (times.length === 0) return note('No order was filled yet.');
  const median = times[Math.floor(times.length / 2)];
  const groups = FILL_TIMES.map((limit, i) => {
    const number = times.filter((each) => each <= limit && each > (FILL_TIMES[i - 1] ?? -1)).length;
    const label =
      limit === Number.POSITIVE_INFINITY ? `over ${duration(FILL_TIMES[i - 1])}` : `up to ${duration(limit)}`;
    return { label, value: number, text: String(number) };
  });
  return element(
    'div',
    {},
    shareChart(groups, ''),
    note(`Median ${duration(median)}, of ${plural(times.length, 'fill')}.`),
  );
}

/** Renders volumes in dollars, largest first. Without the price of a token, bars are numbers of fills. */
function volume({ tokens: sums }, tokens, prices) {
  const worth = sums.map(({ token, sold }) => prices[token] * toNumber(sold, tokens.decimalsOf(token) ?? Number.NaN));
  const isKnown = worth.every(Number.isFinite);
  const entries = sums.map(({ token, sold, fills }, i) => ({
    label: tokens.amount(sold, token),
    value: isKnown ? worth[i] : fills,
    text: `${isKnown ? `${dollars(worth[i])} · ` : ''}${plural(fills, 'fill')}`,
  }));
  return shareChart(
    entries.sort((a, b) => b.value - a.value),
    'No order was filled yet.',
  );
}

function solvers({ solvers: wins }, prefix) {
  return shareChart(
    wins.map(({ solver, wins: number }) => ({
      label: accountLink(solver, prefix),
      value: number,
      text: String(number),
    })),
    'No competition was recorded yet.',
  );
}
