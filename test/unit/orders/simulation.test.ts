import { OrderBookError } from 'intentbook';
import { describe, expect, test } from 'vitest';
import type { UnverifiedOrder } from '../../../src/orders/authenticate.ts';
import type { SimulateOptions } from '../../../src/orders/simulation.ts';
import { simulateOrder } from '../../../src/orders/simulation.ts';
import type { OrderSimulator, OrderToSimulate } from '../../../src/ports/order-simulator.ts';
import type { Address } from '../../../src/protocol/hex.ts';
import type { Interactions } from '../../../src/protocol/trampoline.ts';
import type { Order } from '../../../src/records/wire-order.ts';

const OWNER: Address = `0x${'c0'.repeat(20)}`;
const CONTRACT: Address = `0x${'5e'.repeat(20)}`;
const TRAMPOLINE: Address = `0x${'7a'.repeat(20)}`;
const CALL = { target: OWNER, value: '0', callData: '0x' } as const;
const INTERACTIONS: Interactions = { pre: [CALL], post: [CALL, CALL] };
const SIMULATED = { status: 'simulated', error: null } as const;

const TERMS = { sellAmount: '100', buyAmount: '40', feeAmount: '3', executedSellAmountBeforeFees: '0' };
const STORED = {
  ...TERMS,
  uid: `0x${'d1'.repeat(56)}`,
  owner: OWNER,
  kind: 'sell',
  signingScheme: 'eip712',
  signature: '0x51',
  interactions: INTERACTIONS,
  executedBuyAmount: '0',
} as unknown as Order; // the members that a simulation reads
const HOOKS = { pre: [], post: [] };
const CREATION = {
  creation: { signingScheme: 'ethsign' },
  data: { kind: 'sell', sellAmount: 100n, buyAmount: 40n },
  document: { content: { hooks: HOOKS } },
  expected: OWNER,
  signature: { hex: '0x52' },
} as unknown as UnverifiedOrder; // the members that a simulation reads

/** Simulates an order, and returns the result, the request and the failures. */
async function run(
  target: Parameters<typeof simulateOrder>[0],
  options: SimulateOptions = {},
  simulate?: OrderSimulator['simulate'] | null,
) {
  const requests: OrderToSimulate[] = [];
  const failures: unknown[] = [];
  const queues: string[] = [];
  const signals: unknown[] = [];
  const simulator: OrderSimulator = {
    simulate: async (request, call) => {
      requests.push(request);
      signals.push(call?.signal);
      return simulate ? simulate(request, call) : (SIMULATED as never); // the part of an outcome that is compared
    },
  };
  const context = {
    remote: {
      run: (queue: string, request: (signal: AbortSignal) => Promise<unknown>) => {
        queues.push(queue);
        return request(AbortSignal.timeout(60_000));
      },
    },
    domain: { verifyingContract: CONTRACT },
    hooksTrampoline: TRAMPOLINE,
    simulator: simulate === null ? undefined : simulator,
    onFailure: (failure: unknown) => failures.push(failure),
  } as unknown as Parameters<typeof simulateOrder>[2]; // the members that a simulation uses
  const hooks: unknown[] = [];
  const result = await simulateOrder(target, options, context, (...input) => {
    hooks.push(input);
    return INTERACTIONS;
  });
  return { result, requests, failures, queues, signals, hooks };
}

describe('simulation of a stored order', () => {
  test('settles the whole order with its interactions', async () => {
    const { result, requests, queues, signals } = await run(STORED);
    expect(result).toBe(SIMULATED);
    expect(queues).toEqual(['simulations']);
    expect(signals).toEqual([expect.any(AbortSignal)]);
    expect(requests).toEqual([
      {
        order: { ...STORED, sellAmount: 100n, buyAmount: 40n, feeAmount: 3n },
        owner: OWNER,
        signingScheme: 'eip712',
        signature: '0x51',
        interactions: INTERACTIONS,
        executed: 100n,
        settlementContract: CONTRACT,
      },
    ]);
  });

  test.each([
    [{ kind: 'sell', executedSellAmountBeforeFees: '30' }, 70n, []],
    [{ kind: 'sell', executedSellAmountBeforeFees: '100' }, 0n, []],
    [{ kind: 'sell', executedSellAmountBeforeFees: '101' }, 0n, []],
    [{ kind: 'sell', executedBuyAmount: '30' }, 100n, [CALL]],
    [{ kind: 'buy', executedSellAmountBeforeFees: '30', executedBuyAmount: '15' }, 25n, []],
    [{ kind: 'buy', executedBuyAmount: '40' }, 0n, [CALL]],
  ] as const)('settles the rest of %j, and the first interactions once', async (progress, executed, pre) => {
    const { requests } = await run({ ...STORED, ...progress } as Order); // a stored order
    expect(requests).toMatchObject([{ executed, interactions: { pre, post: INTERACTIONS.post } }]);
  });

  test('takes place after the given block', async () => {
    expect((await run(STORED, { block: 7 })).requests[0]?.block).toBe(7);
    expect(Object.keys((await run(STORED)).requests[0] ?? {})).not.toContain('block');
  });
});

describe('simulation of an order that is not stored', () => {
  test('settles the whole order by the owner that it names', async () => {
    const { requests, hooks } = await run(CREATION);
    expect(requests).toEqual([
      {
        order: CREATION.data,
        owner: OWNER,
        signingScheme: 'ethsign',
        signature: '0x52',
        interactions: INTERACTIONS,
        executed: 100n,
        settlementContract: CONTRACT,
      },
    ]);
    expect(hooks).toEqual([[HOOKS, TRAMPOLINE]]);
  });

  test('has the bought amount of a buy order', async () => {
    const data = { ...CREATION.data, kind: 'buy' } as const;
    expect((await run({ ...CREATION, data })).requests[0]?.executed).toBe(40n);
  });

  test('has any owner if the order names none', async () => {
    expect((await run({ ...CREATION, expected: undefined })).requests[0]?.owner).toBe(TRAMPOLINE);
  });
});

describe('simulation that is rejected', () => {
  test('has the error of a malformed order, and queries no simulator', async () => {
    const error = new OrderBookError('InvalidSignature');
    const { result, requests } = await run(error);
    expect(result).toEqual({ status: 'rejected', error });
    expect(requests).toEqual([]);
  });

  test.each([
    ['a book without a simulator', null],
    ['a simulator that does not support it', async () => ({ status: 'unsupported' }) as never], // another outcome
  ])('has the code MethodNotAllowed for %s', async (_, simulate) => {
    const { result, failures } = await run(STORED, {}, simulate);
    expect(result).toMatchObject({
      status: 'rejected',
      error: { code: 'MethodNotAllowed', message: expect.stringContaining('this book cannot simulate orders') },
    });
    expect(failures).toEqual([]);
  });

  test('has the code ChainUnavailable if the simulator fails, and reports the failure', async () => {
    const failure = new Error('the node is down');
    const { result, failures } = await run(STORED, {}, () => Promise.reject(failure));
    expect(result).toMatchObject({ status: 'rejected', error: { code: 'ChainUnavailable' } });
    expect(failures).toEqual([failure]);
  });
});
