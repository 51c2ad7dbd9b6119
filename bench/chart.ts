import type { Report } from './report.ts';

const WIDTH = 860;
const LABELS = 300;
const ROW = 18;
const HEADING = 30;
const NUMBERS = 90;

/** Draws the time of an operation for each subject of each benchmark as an SVG bar chart on a logarithmic scale. */
export function chart(report: Report): string {
  const benchmarks = Object.entries(report).map(([name, { title, subjects }]) => ({
    name,
    title,
    bars: Object.entries(subjects).flatMap(([subject, { measured }]) =>
      measured['time'] === undefined ? [] : [{ subject, time: measured['time'].median }],
    ),
  }));
  const all = benchmarks.flatMap(({ bars }) => bars.map(({ time }) => time));
  const [least, most] = [Math.floor(Math.log10(Math.min(...all))), Math.ceil(Math.log10(Math.max(...all)))];
  const scale = (WIDTH - LABELS - NUMBERS) / (most - least);
  const x = (time: number) => LABELS + (Math.log10(time) - least) * scale;

  const parts: string[] = [];
  let y = 10;
  for (const { name, title, bars } of benchmarks) {
    y += HEADING;
    parts.push(`<text x="10" y="${y - 8}" class="heading">${escapeText(`${name}: ${title}`)}</text>`);
    for (const [i, { subject, time }] of bars.entries()) {
      parts.push(
        `<text x="${LABELS - 8}" y="${y + 13}" text-anchor="end">${escapeText(subject)}</text>`,
        `<rect x="${LABELS}" y="${y + 3}" width="${(x(time) - LABELS).toFixed(1)}" height="${ROW - 6}" class="bar${i % 2}"/>`,
        `<text x="${(x(time) + 5).toFixed(1)}" y="${y + 13}">${formatDuration(time)}</text>`,
      );
      y += ROW;
    }
  }
  const lines = Array.from({ length: most - least + 1 }, (_, i) => {
    const at = (LABELS + i * scale).toFixed(1);
    return (
      `<line x1="${at}" y1="20" x2="${at}" y2="${y}" class="grid"/>` +
      `<text x="${at}" y="14" text-anchor="middle">${formatDuration(10 ** (least + i))}</text>`
    );
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${y + 10}" viewBox="0 0 ${WIDTH} ${y + 10}">`,
    '<title>Time of an operation for each subject of each benchmark</title>',
    '<style>text{font:11px sans-serif;fill:#333}.heading{font-weight:bold}.grid{stroke:#ddd}' +
      '.bar0{fill:#3b6ea5}.bar1{fill:#8fb3d9}</style>',
    `<rect width="${WIDTH}" height="${y + 10}" fill="#fff"/>`,
    ...lines,
    ...parts,
    '</svg>\n',
  ].join('\n');
}

/** Formats a time. @param time - In microseconds. */
function formatDuration(time: number): string {
  const [value, unit] = time < 1000 ? [time, 'µs'] : time < 1_000_000 ? [time / 1000, 'ms'] : [time / 1_000_000, 's'];
  return `${Number(value.toPrecision(3))} ${unit}`;
}

function escapeText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}
