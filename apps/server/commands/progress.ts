export interface Progress {
  /** Shows a position. `total` is absent if it is unknown. */
  at(done: number, total?: number): void;
  end(): void;
}

/** Width of the bar in characters. */
const WIDTH = 24;
/** Minimum milliseconds between two updates. */
const PACE = 100;

/**
 * Creates a progress bar on a terminal, with rate and remaining time. Draws nothing if the output is not a terminal.
 *
 * @param now - Milliseconds from any origin.
 */
export function progressBar(
  doing: string,
  out: { readonly isTTY?: boolean; write(text: string): unknown },
  now: () => number = () => performance.now(),
): Progress {
  if (out.isTTY !== true) return { at() {}, end() {} };
  const since = now();
  let last = Number.NEGATIVE_INFINITY;
  return {
    at(done, total) {
      const at = now();
      if (at - last < PACE && done !== total) return;
      last = at;
      out.write(`\r\u001b[K${doing} ${progressText(done, total, (at - since) / 1000)}`);
    },
    end: () => void out.write('\r\u001b[K'),
  };
}

/** Formats a position: `████░░░░ 400/1000 40 %, 200/s, 3 s left`. */
function progressText(done: number, total: number | undefined, seconds: number): string {
  const rate = seconds > 0 ? done / seconds : 0;
  const pace = rate === 0 ? '' : `, ${Math.round(rate)}/s`;
  // Rows that were added meanwhile exceed the total.
  if (total === undefined || total === 0 || done > total) return `${done}${pace}`;
  const full = Math.floor((done / total) * WIDTH);
  const left = rate === 0 || done === total ? '' : `, ${formatSeconds((total - done) / rate)} left`;
  const bar = `${'█'.repeat(full)}${'░'.repeat(WIDTH - full)}`;
  return `${bar} ${done}/${total} ${Math.floor((done / total) * 100)} %${pace}${left}`;
}

/** Formats a duration: `42 s`, `3 min 5 s` or `2 h 10 min`. */
export function formatSeconds(seconds: number): string {
  const whole = Math.ceil(seconds);
  if (whole < 60) return `${whole} s`;
  const minutes = Math.floor(whole / 60);
  return minutes < 60 ? `${minutes} min ${whole % 60} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
