import type { RpcClient } from 'intentbook/viem';
import { viemChain } from 'intentbook/viem';
import { describe, expect, test } from 'vitest';

const TOKEN = `0x${'67'.repeat(20)}` as const;
/** Bytes of each return data that are read. */
const KEEP = 224;

const word = (value: number) => value.toString(16).padStart(64, '0');
const hex = (text: string) => Buffer.from(text).toString('hex');

/** Encodes a text as ABI does, with its offset. */
const encodeText = (text: string, offset = 32) =>
  word(offset) + word(0).repeat(offset / 32 - 1) + word(Buffer.byteLength(text)) + hex(text).padEnd(128, '0');

interface Results {
  readonly decimals?: string;
  readonly symbol?: string;
  readonly totalSupply?: string;
}

/** Reads a token whose contract returns these data. A missing result reverts. */
async function read({ decimals, symbol, totalSupply }: Results) {
  const records = [decimals, symbol, undefined, totalSupply].map((data) => {
    const [success, size] = data === undefined ? [0, 0] : [1, data.length / 2];
    return [success, size, 1, 0].map(word).join('') + (data ?? '').slice(0, 2 * KEEP).padEnd(2 * KEEP, '0');
  });
  const node: RpcClient = { request: async () => `0x${records.join('')}` };
  return viemChain(node).tokenInfo?.(TOKEN, { signal: new AbortController().signal });
}

describe('token metadata of a chain', () => {
  test.each([
    ['NUL characters at its end', encodeText('BLD\0\0\0\0'), 'BLD'],
    ['NUL characters within', encodeText('BLD\0x'), 'BLD'],
    ['blanks', encodeText(' BLD '), 'BLD'],
    ['NUL characters only', encodeText('\0\0\0'), undefined],
    ['an offset of 64', encodeText('BLD', 64), 'BLD'],
    ['an offset of 0', word(0) + word(3) + hex('BLD').padEnd(64, '0'), undefined],
    ['an offset of 96', encodeText('BLD', 96), undefined],
    ['bytes32', hex('BLD').padEnd(64, '0'), 'BLD'],
  ])('has a symbol with %s', async (_name, symbol, expected) => {
    expect(await read({ decimals: word(18), symbol, totalSupply: word(1) })).toEqual({
      decimals: 18,
      ...(expected !== undefined && { symbol: expected }),
    });
  });

  test.each([
    ['decimals', { decimals: word(18) }, { decimals: 18 }],
    ['a supply', { totalSupply: word(0) }, {}],
    ['neither', { symbol: encodeText('BLD') }, undefined],
    ['decimals above 255', { decimals: word(256) }, undefined],
  ])('exists for a contract with %s', async (_name, results, expected) => {
    expect(await read(results)).toEqual(expected);
  });
});
