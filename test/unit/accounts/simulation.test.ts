import { setImmediate as nextTick } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { AccountError } from '../../../src/account-tools/account-error.ts';
import { createSimulation } from '../../../src/market/bundles/simulation.ts';
import type { BundleCall, BundleOutcome, BundleSimulator } from '../../../src/ports/bundle-simulation.ts';
import type { Hex } from '../../../src/protocol/hex.ts';
import { manualClock } from '../../support/clock.ts';

type Tools = Parameters<typeof createSimulation>[0];

const address = (digit: string): Hex => `0x${digit.repeat(40)}`;
const [FROM, TO, TOKEN] = ['a', 'b', 'c'].map(address) as [Hex, Hex, Hex];
const CALL = { from: FROM, to: TO, input: '0x' };

/** A simulation API on chain 1, whose simulator responds as the test decides. */
function fixture(simulate: (calls: readonly BundleCall[], signal?: AbortSignal) => Promise<BundleOutcome>) {
  const clock = manualClock();
  const failures: unknown[] = [];
  const measured: [string, string][] = [];
  const bundles: (readonly BundleCall[])[] = [];
  let uuids = 0;
  let isStarted = true;
  const simulator: BundleSimulator = {
    name: 'node',
    simulate(calls, { signal }) {
      bundles.push(calls);
      return simulate(calls, signal);
    },
  };
  const tools: Tools = {
    clock,
    random: { bytes: (length) => new Uint8Array(length), uuid: () => `uuid ${++uuids}`, fraction: () => 0 },
    onFailure: (failure) => void failures.push(failure),
    observer: {
      measure(subject: string, source: string, query: () => Promise<unknown>) {
        measured.push([subject, source]);
        return query();
      },
    } as unknown as Tools['observer'], // the only member that is used
    assertStarted() {
      if (!isStarted) throw new Error('not started');
    },
  };
  const stop = () => {
    isStarted = false;
  };
  return { ...createSimulation(tools, { 1: simulator }), clock, failures, measured, bundles, stop };
}

const simulated = (results: Extract<BundleOutcome, { status: 'simulated' }>['results']): BundleOutcome => ({
  status: 'simulated',
  results,
});
const getFailure = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => Promise.reject(new Error('the simulation must fail')),
    (failure: unknown) => failure,
  );
const settle = async () => {
  for (let i = 0; i < 5; i++) await nextTick();
};

describe('simulation of a bundle', () => {
  test('changes at most 1000 slots of the state', async () => {
    const slots = (count: number) => {
      const toKey = (i: number): Hex => `0x${i.toString(16).padStart(64, '0')}`;
      const raw = Array.from({ length: count }, (_, i) => {
        return { address: TOKEN, key: toKey(i), original: toKey(0), dirty: toKey(1) };
      });
      const change = { address: TOKEN, soltype: null, original: null, dirty: null, raw };
      return { success: true, logs: [], transfers: [], stateChanges: [change] };
    };
    const counts = [600, 400];
    const { simulate } = fixture(async () => simulated(counts.map(slots)));
    const results = await simulate(1, [CALL, CALL]);
    expect(results.map(({ stateDiff }) => stateDiff.length)).toEqual([600, 600]);
    counts.push(1);
    expect(await getFailure(simulate(1, [CALL, CALL, CALL]))).toEqual(
      expect.objectContaining({ status: 400, message: 'The bundle must change at most 1000 slots of the state' }),
    );
  });

  test('returns each transaction with the changes of all transactions up to it', async () => {
    const transfer = { token: TOKEN, from: FROM, to: TO, amount: 5n };
    const slot = { address: TOKEN, key: '0x01', original: '0x00', dirty: '0x02' } as const;
    const change = { address: TOKEN, soltype: null, original: null, dirty: null, raw: [slot] };
    const log = { address: TOKEN, topics: [], data: '0x01' } as const;
    const { simulate, measured, bundles, failures } = fixture(async () =>
      simulated([
        {
          success: true,
          gasUsed: 21_000,
          logs: [log],
          transfers: [transfer],
          stateChanges: [change],
          id: 'x',
          link: 'l',
        },
        { success: false, logs: [], transfers: [transfer], stateChanges: [] },
      ]),
    );
    expect(await simulate(1, [CALL, CALL])).toEqual([
      {
        status: true,
        id: 'x',
        link: 'l',
        gasUsed: '21000',
        logs: [log],
        cumulativeBalancesDiff: { [FROM]: { [TOKEN]: '-5' }, [TO]: { [TOKEN]: '5' } },
        stateDiff: [change],
      },
      {
        status: false,
        id: 'uuid 1',
        link: '',
        logs: [],
        cumulativeBalancesDiff: { [FROM]: { [TOKEN]: '-10' }, [TO]: { [TOKEN]: '10' } },
        stateDiff: [change],
      },
    ]);
    expect(measured).toEqual([['simulation', 'node']]);
    expect(bundles).toEqual([Array.from({ length: 2 }, () => ({ ...CALL, value: 0n }))]);
    expect(failures).toEqual([]);
  });

  test.each([
    ['0', 0n],
    ['255', 255n],
    ['0xfF', 255n],
    [7, 7n],
    [(2n ** 256n - 1n).toString(), 2n ** 256n - 1n],
    [`0x${'f'.repeat(64)}`, 2n ** 256n - 1n],
  ])('sends the value %s', async (value, expected) => {
    const { simulate, bundles } = fixture(async () => simulated([]));
    await simulate(1, [{ ...CALL, value }]);
    expect(bundles[0]?.[0]?.value).toBe(expected);
  });

  test.each([1, 30_000_000])('limits the gas to %i', async (gas) => {
    const { simulate, bundles } = fixture(async () => simulated([]));
    await simulate(1, [{ ...CALL, gas, gas_price: '1' }]);
    expect(bundles).toEqual([[{ ...CALL, value: 0n, gas }]]);
  });

  const AMOUNT = 'must be an amount of wei: decimal digits, or 0x and hex digits, below 2^256';
  const GAS = 'must be a whole number from 1 to 30000000';
  test.each([
    [[], 'must have 1 to 20 transactions'],
    [Array.from({ length: 21 }, () => CALL), 'must have 1 to 20 transactions'],
    [[{ ...CALL, value: '-1' }], AMOUNT],
    [[{ ...CALL, value: -1 }], AMOUNT],
    [[{ ...CALL, value: '1'.repeat(79) }], AMOUNT],
    [[{ ...CALL, value: `0x1${'0'.repeat(64)}` }], AMOUNT],
    [[{ ...CALL, value: (2n ** 256n).toString() }], AMOUNT],
    [[{ ...CALL, value: ' 1' }], AMOUNT],
    [[{ ...CALL, value: '0x' }], AMOUNT],
    [[{ ...CALL, gas: 0 }], `0.gas ${GAS}, got 0`],
    [[{ ...CALL, gas: 30_000_001 }], `0.gas ${GAS}, got 30000001`],
    [[{ ...CALL, gas: 1.5 }], `0.gas ${GAS}, got 1.5`],
    [[{ ...CALL, gas: '7' }], `0.gas ${GAS}, got "7"`],
    [[CALL, { ...CALL, gas_price: {} }], '1.gas_price must be text or a number'],
    [[{ ...CALL, nonce: 1 }], 'has the unknown key "nonce"'],
    [[{ from: FROM, to: TO }], '0.input is missing'],
    ['bundle', 'the body must be an array, got "bundle"'],
  ])('rejects the bundle %j', async (bundle, message) => {
    const { simulate, bundles } = fixture(async () => simulated([]));
    const failure = await getFailure(simulate(1, bundle));
    expect(failure).toMatchObject({ code: 'InvalidParameter', message: expect.stringContaining(message) });
    expect(bundles).toEqual([]);
  });

  test('accepts 20 transactions', async () => {
    const { simulate, bundles } = fixture(async () => simulated([]));
    expect(
      await simulate(
        1,
        Array.from({ length: 20 }, () => CALL),
      ),
    ).toEqual([]);
    expect(bundles[0]).toHaveLength(20);
  });

  test.each([
    ['rejected', 400, 'Build simulation error'],
    ['unsupported', 503, 'Simulations are not available on this chain'],
  ] as const)('fails if the simulator responds %s', async (status, code, message) => {
    const { simulate, failures } = fixture(async () => ({ status }));
    expect(await getFailure(simulate(1, [CALL]))).toEqual(new AccountError(code, message));
    expect(failures).toEqual([]);
  });

  test('fails on a chain without a simulator, after the bundle was validated', async () => {
    const { simulate } = fixture(async () => simulated([]));
    const failure = new AccountError(503, 'Simulations are not available on this chain');
    expect(await getFailure(simulate(2, [CALL]))).toEqual(failure);
    expect(await getFailure(simulate(2, []))).toMatchObject({ code: 'InvalidParameter' });
    expect(await getFailure(simulate(0, [CALL]))).toMatchObject({
      code: 'InvalidParameter',
      message: 'chainId: must be a positive integer',
    });
  });

  test('fails before the account interface is started', async () => {
    const { simulate, stop, bundles } = fixture(async () => simulated([]));
    stop();
    expect(await getFailure(simulate(1, [CALL]))).toEqual(new Error('not started'));
    expect(bundles).toEqual([]);
  });

  test('reports a failure of the simulator, and shows no details', async () => {
    const { simulate, failures } = fixture(() => Promise.reject(new Error('secret')));
    const failure = await getFailure(simulate(1, [CALL]));
    expect(failure).toMatchObject({ status: 503, message: 'The simulation failed', retryAfter: 1 });
    expect(failures).toEqual([new Error('secret')]);
  });

  test('ends after 10 seconds', async () => {
    let aborted = false;
    const { simulate, clock, failures } = fixture(
      (_, signal) =>
        new Promise(() => {
          signal?.addEventListener('abort', () => {
            aborted = true;
          });
        }),
    );
    const result = getFailure(simulate(1, [CALL]));
    await settle();
    clock.advance(9_999);
    await settle();
    expect(failures).toEqual([]);
    clock.advance(1);
    expect(await result).toMatchObject({ status: 503, message: 'The simulation timed out', retryAfter: 1 });
    expect([failures.length, aborted]).toEqual([1, true]);
  });

  test('waits for one of four slots, at most 16 bundles of a chain for at most 5 seconds', async () => {
    const { simulate, clock, bundles, failures } = fixture(() => new Promise(() => {}));
    const results = Array.from({ length: 4 + 16 }, () => getFailure(simulate(1, [CALL])));
    await settle();
    expect(bundles).toHaveLength(4);
    const full = { status: 503, message: 'Too many simulations wait', retryAfter: 1 };
    expect(await getFailure(simulate(1, [CALL]))).toMatchObject(full);
    clock.advance(5_000);
    const late = expect.objectContaining(full);
    expect(await Promise.all(results.slice(4))).toEqual(Array.from({ length: 16 }, () => late));
    expect(bundles).toHaveLength(4);
    expect(failures).toEqual([]); // the simulator has not failed
  });
});

test.each([{ 1: undefined }, { 1: {} }, { 1: { simulate: 'yes' } }])('simulators %j are rejected', (simulators) => {
  const given = simulators as unknown as Parameters<typeof createSimulation>[1]; // untyped application
  expect(() => createSimulation({ clock: manualClock() } as unknown as Tools, given)).toThrow(
    'createAccounts: simulators must be simulators by chain id',
  );
});
