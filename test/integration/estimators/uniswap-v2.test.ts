import type { Hex } from 'intentbook';
import type { CallClient } from 'intentbook/estimators';
import { uniswapV2 } from 'intentbook/estimators';
import { describe, expect, test } from 'vitest';

const token = (n: number): Hex => `0x${n.toString(16).padStart(40, '0')}`;
const FACTORY = token(0xfac);
const context = { signal: new AbortController().signal, timeout: 5_000 };
const word = (value: bigint | Hex) => BigInt(value).toString(16).padStart(64, '0');

/** A node with one pair of the tokens 1 and 2, and its received calls. Real pairs are tested in integration/chain. */
function node() {
  const calls: { to: Hex; block: bigint | undefined }[] = [];
  let block = 100n;
  const client: CallClient = {
    async call({ to, data, blockNumber }) {
      calls.push({ to, block: blockNumber });
      if (to !== FACTORY) return { data: `0x${word(10n ** 20n)}${word(10n ** 20n)}${word(1n)}` };
      const isPair = data.endsWith(word(token(1)) + word(token(2)));
      return { data: `0x${word(isPair ? 0xabcn : 0n)}` };
    },
    async getBlockNumber() {
      return block++;
    },
  };
  return { client, calls };
}

const trade = (sold: number, bought: number) =>
  ({ kind: 'sell', sellToken: token(sold), buyToken: token(bought), amount: 10n ** 6n }) as const;

describe('Uniswap V2 estimator', () => {
  test('reads all reserves of a request at one block, and of the next request at another', async () => {
    const { client, calls } = node();
    const source = uniswapV2(client, { factory: FACTORY, bases: [token(3)] });
    for (let i = 0; i < 2; i++) expect(await source.estimate(trade(1, 2), context)).toHaveLength(1);
    const reserves = calls.filter(({ to }) => to !== FACTORY);
    expect(reserves.map(({ block }) => block)).toEqual([100n, 101n]);
  });

  test('reads the latest block if the client has no block number', async () => {
    const { client, calls } = node();
    const source = uniswapV2({ call: client.call }, { factory: FACTORY });
    expect(await source.estimate(trade(1, 2), context)).toHaveLength(1);
    expect(calls.map(({ block }) => block)).toEqual([undefined, undefined]);
  });

  test('names itself in the error of a reserve that no pair can have', async () => {
    const { client } = node();
    const call: CallClient['call'] = async (query) =>
      query.to === FACTORY ? client.call(query) : { data: `0x${word(2n ** 112n)}${word(1n)}${word(1n)}` };
    await expect(uniswapV2({ call }, { factory: FACTORY }).estimate(trade(1, 2), context)).rejects.toThrow(
      /^uniswapV2: a reserve must be a bigint from 0 to 2\^112 - 1/,
    );
  });

  test('reads nothing for an aborted request', async () => {
    const { client, calls } = node();
    const source = uniswapV2(client, { factory: FACTORY });
    const gone = new AbortController();
    const reading = source.estimate(trade(1, 2), { ...context, signal: gone.signal });
    gone.abort(new Error('gone'));
    await expect(reading).rejects.toThrow('gone');
    expect(calls.map(({ to }) => to)).toEqual([FACTORY]);
    await expect(source.estimate(trade(1, 4), { ...context, signal: gone.signal })).rejects.toThrow('gone');
    expect(calls).toHaveLength(1);
  });

  test('queries a pair again whose reserves cannot be read, such as after a reorganisation', async () => {
    let exists = true;
    const call: CallClient['call'] = async ({ to, data }) => {
      if (to === FACTORY)
        return { data: `0x${word(exists && data.endsWith(word(token(1)) + word(token(2))) ? 5n : 0n)}` };
      return { data: exists ? `0x${word(10n ** 20n)}${word(10n ** 20n)}${word(1n)}` : '0x' };
    };
    const source = uniswapV2({ call }, { factory: FACTORY });
    expect(await source.estimate(trade(1, 2), context)).toHaveLength(1);
    exists = false;
    await expect(source.estimate(trade(1, 2), context)).rejects.toThrow('did not return 3 words');
    expect(await source.estimate(trade(1, 2), context)).toEqual([]);
  });

  test('caches 10 000 missing pairs and queries the others again', async () => {
    const { client, calls } = node();
    const source = uniswapV2(client, { factory: FACTORY });
    const countReads = async (n: number) => {
      const before = calls.length;
      await source.estimate(trade(1, n), context);
      return calls.length - before;
    };
    for (let n = 0; n <= 10_000; n++) expect(await countReads(10 + n)).toBe(1);
    expect([await countReads(10), await countReads(10_010)]).toEqual([1, 0]);
  });

  test.each([2e6, 1_000_000, -1, 0.5])('rejects a fee of %s when it is created', (fee) => {
    expect(() => uniswapV2(node().client, { factory: FACTORY, fee })).toThrow(/fee/);
  });
});
