import { describe, expect, it } from 'vitest';
import { manualClock } from '../../../support/clock.ts';
import { json, OWNER, settle, upstreamFixture } from './upstream-fixture.ts';

const PAGE = { offset: 0, limit: 1 };

/** Creates the time of a book. Each response has the time of another clock, and arrives after `latency`. */
function timeFixture(latency = 0) {
  const clock = manualClock();
  const remote = { skew: 0 as number | undefined };
  const fixture = upstreamFixture(undefined, {}, { clock });
  const { upstream, advance, requests } = fixture;
  const time = upstream.createClock?.(clock);
  upstream.open({ chainId: 1, settlementContract: OWNER, clock, onCall: () => {} });
  return {
    remote,
    getCorrection: () => (time?.now() ?? 0) - clock.now(),
    /** Reads once. Without a skew, the connection is cut. */
    async read() {
      await advance(1000);
      const result = upstream.listOrders(OWNER, PAGE);
      await settle();
      await advance(latency);
      const date = new Date(clock.now() + (remote.skew ?? 0)).toUTCString();
      requests
        .at(-1)
        ?.respond(remote.skew === undefined ? new Error('the connection was cut') : json(200, [], { date }));
      await result;
    },
  };
}

describe('time of a book', () => {
  it('is corrected after two equal measurements', async () => {
    const { remote, read, getCorrection } = timeFixture();
    remote.skew = 90_000;
    await read();
    expect(getCorrection()).toBe(0);
    await read();
    expect(Math.abs(getCorrection() - 90_000)).toBeLessThanOrEqual(1000);
  });

  it('is not corrected by one measurement and calls without a response', async () => {
    const { remote, read, getCorrection } = timeFixture();
    remote.skew = 90_000;
    await read();
    remote.skew = undefined;
    for (let i = 0; i < 3; i++) await read();
    expect(getCorrection()).toBe(0);
  });

  it('is not corrected by slow responses of a host whose clock is right', async () => {
    const { read, getCorrection } = timeFixture(14_000);
    for (let i = 0; i < 3; i++) await read();
    expect(getCorrection()).toBe(0);
  });
});
