import type { Clock, UpstreamBlock } from 'intentbook';
import { readMonotonic } from '#internal';

/** A reason to send no calls of a class for a while. */
export interface PauseRequest {
  /** `edge`: what is in front of the book requires fewer requests. `unreachable`: no connection could be opened. */
  readonly kind: 'edge' | 'unreachable';
  readonly reason: string;
  /** `Retry-After` in milliseconds, if the response has one. */
  readonly delay?: number | undefined;
}

/** The first and the longest pause of each kind, in milliseconds. */
const DELAYS = {
  edge: { first: 60_000, longest: 600_000 },
  unreachable: { first: 1000, longest: 60_000 },
} as const;

/** Milliseconds after which a call that met a running probe is tried again. */
const PROBE_WAIT = 1000;

/** How a call ended, as far as a pause depends on it. `cancelled`: it was not sent, or has no result. */
export type CallEnd = 'answered' | 'lost' | 'cancelled' | PauseRequest;

/** The pause of one class of calls. After it, one call is sent as a probe, and decides whether the class continues. */
export type Pause = ReturnType<typeof createPause>;

/** Creates a pause that has not begun. */
export function createPause(clock: Clock) {
  let current: PauseRequest | undefined;
  let endsAt = 0;
  /** Number of pauses in succession whose length was not given. */
  let repeats = 0;
  let isProbing = false;

  function begin(request: PauseRequest): void {
    if (current !== undefined && current.kind !== request.kind) repeats = 0;
    const { first, longest } = DELAYS[request.kind];
    const delay = request.delay ?? Math.min(first * 2 ** repeats, longest);
    if (request.delay === undefined) repeats++;
    current = request;
    endsAt = readMonotonic(clock) + delay;
  }

  return {
    /** Returns why no call may be sent now. */
    getBlock(): UpstreamBlock | undefined {
      if (current === undefined) return undefined;
      const rest = endsAt - readMonotonic(clock);
      if (rest <= 0 && !isProbing) return undefined;
      const until = Math.ceil(clock.now() + (rest > 0 ? rest : PROBE_WAIT));
      return { status: 'blocked', reason: current.reason, until };
    },
    /** Admits a call that `getBlock` does not block. Returns whether it is the probe. */
    enter(): boolean {
      isProbing = current !== undefined;
      return isProbing;
    },
    /** Ends an admitted call. */
    leave(isProbe: boolean, end: CallEnd): void {
      if (isProbe) isProbing = false;
      if (end === 'cancelled') return;
      if (typeof end === 'object') {
        // Calls that were under way when the class was paused prove nothing new, but may ask for a longer pause.
        if (isProbe || current === undefined) begin(end);
        else endsAt = Math.max(endsAt, readMonotonic(clock) + (end.delay ?? 0));
        return;
      }
      if (!isProbe || current === undefined) return;
      if (end === 'lost') {
        begin({ kind: current.kind, reason: current.reason });
        return;
      }
      current = undefined;
      repeats = 0;
    },
  };
}
