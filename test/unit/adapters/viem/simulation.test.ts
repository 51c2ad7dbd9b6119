import { type RpcClient, viemQuoteVerifier, viemSimulator, viemSource } from 'intentbook/viem';
import { describe, expect, it } from 'vitest';
import { toWord } from '../../../../adapters/viem/balance-slots.ts';
import { simulateBlock } from '../../../../adapters/viem/settlement.ts';
import { simulateCalls } from '../../../../adapters/viem/simulation.ts';

const ADDRESS = `0x${'9'.repeat(40)}` as const;
const { signal } = new AbortController();

describe('a simulated call', () => {
  // Nodes omit the error of a successful call, or return null.
  it.each<[result: object, success: boolean, data: string, error: string | undefined]>([
    [{ status: '0x1', returnData: '0x01' }, true, '0x01', '0x01'],
    [{ status: '0x1', returnData: '0x01', error: null }, true, '0x01', '0x01'],
    [{ status: '0x1', returnData: null, error: null }, true, '0x', undefined],
    [{ status: '0x0', returnData: '0x02', error: { code: 3, data: null } }, false, '0x02', '0x02'],
    [{ status: '0x0', returnData: '0x', error: { code: 3, message: 'out of gas' } }, false, '0x', 'out of gas'],
  ])('%j is read', async (result, success, data, error) => {
    const client = { request: async () => [{ calls: [{ gasUsed: '0x5208', ...result }] }] };
    const call = { from: ADDRESS, to: ADDRESS, gas: '0x1' } as const;
    expect(await simulateCalls(client, [{ from: ADDRESS, to: ADDRESS, data: '0x' }], signal)).toEqual([
      { success, data },
    ]);
    expect(await simulateBlock(client, [{ ...call, input: '0x' }], undefined, signal)).toMatchObject([
      { success, data, error },
    ]);
  });
});

describe('a method that one of several nodes lacks', () => {
  const tokens = { sellToken: ADDRESS, buyToken: ADDRESS, sellTokenBalance: 'erc20', buyTokenBalance: 'erc20' };
  const terms = { sellAmount: 1n, buyAmount: 1n, feeAmount: 0n, validTo: 1, kind: 'sell', partiallyFillable: false };
  const contracts = { settlementContract: ADDRESS, vaultRelayer: ADDRESS };
  const calls = { hooks: { pre: [], post: [] }, interactions: [], preInteractions: [], jitOrders: [] };
  const order = { ...tokens, ...terms, receiver: ADDRESS, appData: toWord(0n) };
  const verification = { order, owner: ADDRESS, uid: '0x', ...contracts, ...calls };
  const bundle = [{ from: ADDRESS, to: ADDRESS, input: '0x', value: 0n }] as const;

  it.each<[method: string, create: (client: RpcClient) => () => unknown]>([
    [
      'debug_traceTransaction',
      (client) => {
        const source = viemSource(client);
        return () => source.settleCalls(ADDRESS, ['0x01'], { signal });
      },
    ],
    [
      'debug_traceCall',
      (client) => {
        const simulator = viemSimulator(client);
        return () => simulator.simulate(bundle, { signal });
      },
    ],
    [
      'eth_simulateV1',
      (client) => {
        const verifier = viemQuoteVerifier(client);
        return () => verifier.verify(verification as never, { signal });
      },
    ],
  ])('is requested again: %s', async (lacking, create) => {
    const requests: string[] = [];
    const responses: Readonly<Record<string, unknown>> = {
      eth_call: `0x${'f'.repeat(64)}`,
      eth_getTransactionByHash: { to: null },
      eth_simulateV1: [{ number: '0x2', timestamp: '0x1', calls: [{ status: '0x1', gasUsed: '0x1' }] }],
    };
    const run = create({
      async request({ method }) {
        requests.push(method);
        if (method === lacking) throw Object.assign(new Error('the method does not exist'), { code: -32601 });
        return responses[method];
      },
    });
    for (let i = 0; i < 2; i++) await Promise.resolve(run()).catch(() => {});
    expect(requests.filter((method) => method === lacking)).toHaveLength(2);
  });
});
