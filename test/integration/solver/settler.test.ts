import { inspect } from 'node:util';
import type { NodeClient, SolverWallet } from 'intentbook/solver';
import { createReferenceEngine, fundsReader, nodeSettler, uniswapV2Liquidity } from 'intentbook/solver';
import { describe, expect, it } from 'vitest';
import { addressOf, BUY, createOrder, fillAll, SELL, SOLVER } from './orders.ts';

const URL_TEXT = 'https://node.example/v3/secret';
const never = () => new Promise<never>(() => {});
const fail = () => Promise.reject(new Error(`HTTP request failed.\n\nURL: ${URL_TEXT}`));

function getSettler(request: NodeClient['request'], sendTransaction: SolverWallet['sendTransaction'], timeout = 30) {
  return nodeSettler({ client: { request }, wallet: { address: SOLVER, sendTransaction }, timeout });
}

describe('settler of a node', () => {
  const solution = fillAll(createOrder(1));

  it('ends a settlement whose wallet does not respond', async () => {
    const settler = getSettler(never, never);
    await expect(settler.submit(solution, 1)).rejects.toThrow('the wallet did not send the settlement: ');
  });

  it('ends a simulation whose signal is aborted', async () => {
    const settler = getSettler(never, never, 60_000);
    const control = new AbortController();
    const simulated = settler.simulate(solution, control.signal);
    control.abort(new Error('the auction is over'));
    await expect(simulated).rejects.toThrow('the auction is over');
  });

  it('returns the reason of a solution that is too large for the node', async () => {
    const tooLarge = Object.assign(new Error('HTTP request failed.'), { name: 'HttpRequestError', status: 413 });
    const settler = getSettler(() => Promise.reject(tooLarge), never);
    expect(await settler.simulate(solution)).toBe('HTTP request failed.');
    const overloaded = getSettler(() => Promise.reject(Object.assign(tooLarge, { status: 503 })), never);
    await expect(overloaded.simulate(solution)).rejects.toThrow('the node does not respond');
  });

  it('returns the reason of a solution that cannot be encoded', async () => {
    const settler = getSettler(async () => '0x', never);
    expect(await settler.simulate({ ...solution, prices: { [SELL]: 1n } })).toMatch(/^prices must contain 0x/);
  });
});

describe('URL of a node', () => {
  const signal = new AbortController().signal;
  const client = { request: fail };
  const bases = [addressOf(1)];
  const liquidity = uniswapV2Liquidity(client, { factory: addressOf(2), receiver: addressOf(3), bases });
  const engine = createReferenceEngine({ liquidity, wrappedNative: addressOf(1) });
  const order = createOrder(1);

  it.each([
    ['a settlement', () => getSettler(fail, fail).submit(fillAll(order), 1)],
    ['the newest block', () => getSettler(fail, fail).block?.()],
    ['liquidity', () => liquidity.read([SELL, BUY], signal)],
    ['funds', () => fundsReader(client, addressOf(4))([order], signal)],
    ['an auction', () => engine.solve({ id: 1, block: 1, orders: [order], prices: {} }, signal)],
  ])('is not part of the error of %s', async (_, run) => {
    const error = await Promise.resolve(run()).then(
      () => undefined,
      (failure: unknown) => failure,
    );
    expect(String(error)).toContain('HTTP request failed.');
    expect(inspect(error)).not.toContain('secret');
  });
});
