/**
 * How long after the first signal another one counts as its echo, in milliseconds. At Ctrl-C the terminal signals every
 * process in front, and `npm start` passes its own on to us.
 */
export const ECHO = 500;

/** What of `process` this needs. */
export interface SignalSource {
  on(signal: 'SIGINT' | 'SIGTERM', listener: (signal: 'SIGINT' | 'SIGTERM') => void): unknown;
}

/** Calls `first` at the first SIGINT or SIGTERM, and `second` when another one says that this takes too long. */
export function onSignals(
  source: SignalSource,
  now: () => number,
  { first, second }: { first(signal: string): void; second(): void },
): void {
  let since: number | undefined;
  for (const name of ['SIGINT', 'SIGTERM'] as const) {
    source.on(name, (signal) => {
      if (since === undefined) {
        since = now();
        first(signal);
      } else if (now() - since >= ECHO) second();
    });
  }
}
