/** Tells how far long work has come. */
export interface Progress {
  /** `total` is unknown where nobody has counted. */
  at(done: number, total?: number): void;
  end(): void;
}

/** Twenty-four steps are enough to see it move. */
const WIDTH = 24;
/** Milliseconds between two looks, so that showing costs nothing. */
const PACE = 100;

/** Draws a bar on a terminal, and nothing where nobody looks. */
export function progressBar(doing: string, out: { readonly isTTY?: boolean; write(text: string): unknown }): Progress {
  if (out.isTTY !== true) return { at() {}, end() {} };
  let last = Number.NEGATIVE_INFINITY;
  return {
    at(done, total) {
      const now = performance.now();
      if (now - last < PACE && done !== total) return;
      last = now;
      const full = total === undefined || total === 0 ? 0 : Math.floor((done / total) * WIDTH);
      const bar = total === undefined ? '' : `${'█'.repeat(full)}${'░'.repeat(WIDTH - full)} `;
      out.write(`\r\u001b[K${doing} ${bar}${done}${total === undefined ? '' : `/${total}`}`);
    },
    end: () => void out.write('\r\u001b[K'),
  };
}
