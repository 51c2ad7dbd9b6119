import { styleText } from 'node:util';

const same = (text: string) => text;

/** No colours: for files, pipes and `NO_COLOR`. */
export const PLAIN = { title: same, code: same, link: same, dim: same, good: same, bad: same };

/** Colours of printed text. */
export type Style = typeof PLAIN;

const paint = (format: Parameters<typeof styleText>[0]) => (text: string) =>
  styleText(format, text, { validateStream: false });

const COLOURED: Style = {
  title: paint('bold'),
  code: paint('cyan'),
  link: paint(['cyan', 'underline']),
  dim: paint('dim'),
  good: paint('green'),
  bad: paint('red'),
};

/** Returns the style of an output: coloured on a terminal, unless `NO_COLOR` is set or the terminal is dumb. */
export function createStyle(
  out: { readonly isTTY?: boolean },
  env: Readonly<Record<string, string | undefined>> = {},
): Style {
  const isDisabled = Boolean(env['NO_COLOR']) || env['TERM'] === 'dumb';
  return out.isTTY === true && !isDisabled ? COLOURED : PLAIN;
}
