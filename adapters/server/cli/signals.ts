/**
 * Milliseconds after the first signal in which another one counts as its echo. At Ctrl-C the terminal signals every
 * foreground process, and `npm start` forwards its signal.
 */
export const ECHO = 500;

/** The members of `process` that are used. */
export interface SignalSource {
  on(signal: 'SIGINT' | 'SIGTERM', listener: (signal: 'SIGINT' | 'SIGTERM') => void): unknown;
}

/** Calls `first` at the first SIGINT or SIGTERM, and `second` at the next one. */
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
