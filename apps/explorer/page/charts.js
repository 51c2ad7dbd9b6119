import { element, note, svg } from './elements.js';
import { formatPrice } from './format.js';

/** Size of the coordinates. The image is stretched to its element. */
const [WIDTH, HEIGHT] = [600, 140];

const IMAGE = { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: 'none', class: 'chart', role: 'img' };

/** Renders an image with the labels of both ends of its axis, and a legend. */
function figure(label, content, [first, last], legend) {
  const ends = element('p', { class: 'ends' }, element('span', {}, first), element('span', {}, last));
  return element('figure', {}, svg('svg', { ...IMAGE, 'aria-label': label }, ...content), ends, legend);
}

/**
 * Renders values over time as bars, one colour per series.
 *
 * @param {string} label - Description for screen readers.
 * @param {readonly { name: string, values: readonly number[] }[]} series - At most three, of one length.
 * @param {(index: number) => string} labelOf - Label of a position on the time axis.
 */
export function timeChart(label, series, labelOf) {
  const count = series[0].values.length;
  const highest = Math.max(1, ...series.flatMap(({ values }) => values));
  const slot = WIDTH / count;
  const bar = slot / series.length;
  const bars = series.flatMap(({ name, values }, n) =>
    values.map((value, i) => {
      const size = (value / highest) * (HEIGHT - 8);
      const place = { x: i * slot + n * bar, y: HEIGHT - size, width: Math.max(1, bar - 0.5), height: size };
      return svg('rect', { ...place, class: `series-${n}` }, svg('title', {}, `${labelOf(i)}: ${value} ${name}`));
    }),
  );
  const axis = svg('line', { x1: 0, x2: WIDTH, y1: HEIGHT, y2: HEIGHT, class: 'axis' });
  const legend = element(
    'p',
    { class: 'legend' },
    ...series.map(({ name, values }, n) => {
      const sum = values.reduce((total, value) => total + value, 0);
      return element('span', { class: `series-${n}` }, `${name}: ${sum}`);
    }),
    element('span', { class: 'quiet' }, `highest ${highest}`),
  );
  return figure(label, [axis, ...bars], [labelOf(0), labelOf(count - 1)], legend);
}

/**
 * Renders shares as horizontal bars with their values as text.
 *
 * @param {readonly { label: Node | string, value: number, text: Node | string }[]} entries
 */
export function shareChart(entries, empty) {
  if (entries.length === 0) return note(empty);
  const highest = Math.max(...entries.map(({ value }) => value), Number.MIN_VALUE);
  return element(
    'ul',
    { class: 'shares' },
    ...entries.map(({ label, value, text }) => {
      const bar = element('span', { class: 'bar', 'aria-hidden': 'true' });
      // The content security policy forbids style attributes, and allows this.
      bar.style.setProperty('--share', value === 0 ? '0' : `max(2px, ${(value / highest) * 100}%)`);
      return element('li', {}, element('span', {}, label), bar, element('span', { class: 'digits' }, text));
    }),
  );
}

/**
 * Renders prices over time as steps, with their range.
 *
 * @param {readonly { time: number, price: number }[]} points - Oldest first, in milliseconds since 1970.
 * @param {(time: number) => string} labelOf - Label of a time.
 */
export function priceChart(label, points, labelOf) {
  const prices = points.map(({ price }) => price);
  const [low, high] = [Math.min(...prices), Math.max(...prices)];
  const [first, last] = [points[0].time, points.at(-1).time];
  const x = (time) => (last === first ? 0 : ((time - first) / (last - first)) * WIDTH);
  const y = (price) => (high === low ? HEIGHT / 2 : (HEIGHT - 8) * (1 - (price - low) / (high - low)) + 4);
  let path = `M 0 ${y(prices[0])}`;
  for (const { time, price } of points) path += ` H ${x(time)} V ${y(price)}`;
  const line = svg('path', { d: `${path} H ${WIDTH}`, class: 'prices' });
  const legend = element('p', { class: 'legend quiet' }, `lowest ${formatPrice(low)} · highest ${formatPrice(high)}`);
  return figure(label, [line], [labelOf(first), labelOf(last)], legend);
}

/**
 * Renders the cumulated amounts of bids and offers over the price as steps.
 *
 * @param {readonly { price: number, size: number }[]} bids - Best first.
 * @param {readonly { price: number, size: number }[]} offers - Best first.
 */
export function depthChart(label, bids, offers) {
  const sides = [bids, offers].map((orders) => {
    let total = 0;
    return orders.map(({ price, size }) => {
      total += size;
      return { price, total };
    });
  });
  const points = sides.flat();
  const [low, high] = [Math.min(...points.map((each) => each.price)), Math.max(...points.map((each) => each.price))];
  const margin = high === low ? Math.max(high * 0.05, Number.MIN_VALUE) : (high - low) * 0.05;
  const top = Math.max(...points.map(({ total }) => total), Number.MIN_VALUE);
  const x = (price) => ((price - low + margin) / (high - low + 2 * margin)) * WIDTH;
  const y = (total) => (HEIGHT - 8) * (1 - total / top) + 4;
  const areas = sides.map((steps, n) => {
    if (steps.length === 0) return svg('g', {});
    const edge = n === 0 ? 0 : WIDTH;
    let path = `M ${x(steps[0].price)} ${y(0)}`;
    for (const { price, total } of steps) path += ` H ${x(price)} V ${y(total)}`;
    return svg('path', { d: `${path} H ${edge} V ${y(0)} Z`, class: n === 0 ? 'bids' : 'offers' });
  });
  const legend = element('p', { class: 'legend quiet' }, `largest total ${formatPrice(top)}`);
  return figure(label, areas, [formatPrice(low - margin), formatPrice(high + margin)], legend);
}
