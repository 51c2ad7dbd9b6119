import { isatty } from 'node:tty';

/**
 * Milliseconds after the first signal in which another one counts as its echo. At Ctrl-C the terminal signals every
 * foreground process, and `npm start` forwards its signal.
 */
export const ECHO = 500;

/** Signals that stop a server. SIGHUP is sent when a terminal is closed. */
export const STOP_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
export type StopSignal = (typeof STOP_SIGNALS)[number];

/** The members of `process` that are used. */
export interface SignalSource {
  on(signal: StopSignal, listener: (signal: StopSignal) => void): unknown;
}

/**
 * Calls `first` at the first stop signal, and `second` at the next one. Without a terminal, SIGHUP has no effect: nohup
 * makes it ignored, which Node.js reverts, and tools that rotate logs send it.
 */
export function onSignals(
  source: SignalSource,
  now: () => number,
  { first, second }: { first(signal: string): void; second(): void },
  hasTerminal = [0, 1, 2].some((descriptor) => isatty(descriptor)),
): void {
  let since: number | undefined;
  for (const name of STOP_SIGNALS) {
    source.on(name, (signal) => {
      if (signal === 'SIGHUP' && !hasTerminal) return;
      if (since === undefined) {
        since = now();
        first(signal);
      } else if (now() - since >= ECHO) second();
    });
  }
}
