import { styleText } from 'node:util';

/** Colours of printed text. */
export interface Style {
  title(text: string): string;
  code(text: string): string;
  link(text: string): string;
  dim(text: string): string;
  good(text: string): string;
  bad(text: string): string;
}

const same = (text: string) => text;

/** No colours: for files, pipes and `NO_COLOR`. */
export const PLAIN: Style = { title: same, code: same, link: same, dim: same, good: same, bad: same };

const COLOURED: Style = {
  title: (text) => styleText('bold', text, { validateStream: false }),
  code: (text) => styleText('cyan', text, { validateStream: false }),
  link: (text) => styleText(['cyan', 'underline'], text, { validateStream: false }),
  dim: (text) => styleText('dim', text, { validateStream: false }),
  good: (text) => styleText('green', text, { validateStream: false }),
  bad: (text) => styleText('red', text, { validateStream: false }),
};

/** Returns the style of an output: coloured on a terminal, unless `NO_COLOR` is set or the terminal is dumb. */
export function createStyle(
  out: { readonly isTTY?: boolean },
  env: Readonly<Record<string, string | undefined>> = {},
): Style {
  const isDisabled = Boolean(env['NO_COLOR']) || env['TERM'] === 'dumb';
  return out.isTTY === true && !isDisabled ? COLOURED : PLAIN;
}
