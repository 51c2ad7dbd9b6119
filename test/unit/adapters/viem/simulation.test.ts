import { describe, expect, it } from 'vitest';
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
