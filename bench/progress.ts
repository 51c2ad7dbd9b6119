const WIDTH = 24;

/** Shows the progress of a run on stderr: a bar on a terminal, otherwise a line for each benchmark. */
export function showProgress(
  benchmarks: number,
): (benchmark: string, index: number, done: number, all: number) => void {
  const { stderr } = process;
  return (benchmark, index, done, all) => {
    if (!stderr.isTTY) {
      if (done === 0) stderr.write(`${benchmark} (${index + 1} of ${benchmarks})\n`);
      return;
    }
    const share = (index + done / all) / benchmarks;
    const filled = Math.round(share * WIDTH);
    const bar = `${'█'.repeat(filled)}${'░'.repeat(WIDTH - filled)}`;
    const line = `${bar} ${String(Math.round(share * 100)).padStart(3)} %  ${benchmark}, round ${done} of ${all}`;
    stderr.write(`\r\x1b[K${share < 1 ? line : ''}`);
  };
}
