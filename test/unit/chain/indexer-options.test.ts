import type { IndexerOptions } from 'intentbook';
import { describe, expect, test } from 'vitest';
import { parseIndexerOptions } from '../../../src/chain/indexer-options.ts';
import { scriptedChain } from '../../support/scripted-chain.ts';

const ETH_FLOW = `0x${'ef'.repeat(20)}` as const;
const OTHER = `0x${'AB'.repeat(20)}` as const;
const sources = [scriptedChain().node('a'), scriptedChain().node('b')];

describe('indexer options', () => {
  test('have defaults, and the id of the first node as the holder', () => {
    expect(parseIndexerOptions({ sources }, ETH_FLOW)).toEqual({
      sources,
      fromBlock: undefined,
      onchainOrderContracts: [ETH_FLOW],
      pollInterval: 2000,
      reorgLimit: 64,
      maxBlockRange: 10_000,
      timeout: 15_000,
      holder: 'a',
    });
    expect(parseIndexerOptions({ sources }, undefined).onchainOrderContracts).toEqual([]);
  });

  test('have defaults for members that are undefined', () => {
    const absent = {
      fromBlock: undefined,
      onchainOrderContracts: undefined,
      pollInterval: undefined,
      reorgLimit: undefined,
      maxBlockRange: undefined,
      timeout: undefined,
    };
    const options = { sources, ...absent } as unknown as IndexerOptions; // as from JavaScript
    expect(parseIndexerOptions(options, ETH_FLOW)).toEqual(parseIndexerOptions({ sources }, ETH_FLOW));
  });

  test('accept every option at its minimum, and addresses in any case', () => {
    const minimal = { pollInterval: 1, reorgLimit: 1, maxBlockRange: 1, timeout: 1 };
    expect(parseIndexerOptions({ sources, ...minimal, onchainOrderContracts: [OTHER] }, ETH_FLOW)).toMatchObject({
      ...minimal,
      onchainOrderContracts: [OTHER.toLowerCase()],
    });
  });

  test.each([
    [0, 1],
    [1, 1],
    [2, 2],
  ])('fromBlock %d starts at block %d, since the genesis block has no transactions', (fromBlock, first) => {
    expect(parseIndexerOptions({ sources, fromBlock }, ETH_FLOW).fromBlock).toBe(first);
  });

  test.each([
    [{ sources: [] }, 'sources must be an array with at least one node'],
    [{ sources: sources[0] }, 'sources must be an array with at least one node'],
    [{ sources: [...sources, 'http://127.0.0.1:8545'] }, 'sources must be nodes such as viemSource(client)'],
    [{ sources, pollInterval: 0 }, 'pollInterval must be an integer from 1 up, got 0'],
    [{ sources, reorgLimit: 0 }, 'reorgLimit must be an integer from 1 up, got 0'],
    [{ sources, maxBlockRange: 1.5 }, 'maxBlockRange must be an integer from 1 up, got 1.5'],
    [{ sources, timeout: '1000' }, 'timeout must be an integer from 1 up, got "1000"'],
    [{ sources, fromBlock: -1 }, 'fromBlock must be an integer from 0 up, got -1'],
    [{ sources, onchainOrderContracts: ['0x12'] }, 'onchainOrderContracts must be 0x and 40 hex digits, got "0x12"'],
  ])('%# are rejected and named', (options, message) => {
    expect(() => parseIndexerOptions(options as unknown as IndexerOptions, ETH_FLOW)).toThrow(
      new TypeError(`createOrderBook, indexer: ${message}`),
    );
  });

  test('reject an unknown option and name a similar one', () => {
    const misspelt = { sources, pollIntervall: 5 } as IndexerOptions;
    expect(() => parseIndexerOptions(misspelt, ETH_FLOW)).toThrow(/createOrderBook, indexer.*pollIntervall/);
  });
});
