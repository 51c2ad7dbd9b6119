/** Records the events of a simulation. */
export interface Trace {
  /** Adds a line with the virtual time. */
  add(text: string): void;
  /** Returns 64 bits of all lines so far, as hex. */
  readonly hash: string;
  /** The lines, if they are kept. */
  readonly lines: readonly string[];
}

/** Creates a trace. @param keep - Whether the lines are kept. */
export function createTrace(now: () => number, keep: boolean): Trace {
  const lines: string[] = [];
  let [high, low] = [0x811c9dc5, 0xc9dc5118];
  return {
    add(text) {
      const line = `${now().toFixed(3)} ${text}`;
      for (let i = 0; i < line.length; i++) {
        const code = line.charCodeAt(i);
        high = Math.imul(high ^ code, 0x01000193);
        low = Math.imul(low + code, 0x5bd1e995) ^ (low >>> 15);
      }
      if (keep) lines.push(line);
    },
    get hash() {
      return [high, low].map((each) => (each >>> 0).toString(16).padStart(8, '0')).join('');
    },
    lines,
  };
}
