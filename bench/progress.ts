const WIDTH = 24;

/** Shows on stderr how far a run has come: a bar where somebody looks, a line for each trial where nobody does. */
export function progress(trials: number): (trial: string, index: number, done: number, all: number) => void {
  const { stderr } = process;
  return (trial, index, done, all) => {
    if (!stderr.isTTY) {
      if (done === 0) stderr.write(`${trial} (${index + 1} of ${trials})\n`);
      return;
    }
    const share = (index + done / all) / trials;
    const filled = Math.round(share * WIDTH);
    const bar = `${'█'.repeat(filled)}${'░'.repeat(WIDTH - filled)}`;
    const line = `${bar} ${String(Math.round(share * 100)).padStart(3)} %  ${trial}, round ${done} of ${all}`;
    stderr.write(`\r\x1b[K${share < 1 ? line : ''}`);
  };
}
