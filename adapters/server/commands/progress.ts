/** Shows the progress of a long command. */
export interface Progress {
  /** Shows a position. `total` is absent if it is unknown. */
  at(done: number, total?: number): void;
  end(): void;
}

/** Width of the bar in characters. */
const WIDTH = 24;
/** Minimum milliseconds between two updates. */
const PACE = 100;

/** Creates a progress bar on a terminal. Draws nothing if the output is not a terminal. */
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
