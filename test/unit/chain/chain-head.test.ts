import { expect, test } from 'vitest';
import { findChainHead } from '../../../src/chain/chain-head.ts';
import type { ChainSource } from '../../../src/ports/chain-source.ts';
import { manualClock } from '../../support/clock.ts';
import { scriptedChain } from '../../support/scripted-chain.ts';
import { empty, findRef } from './indexer-fixture.ts';

/** Two nodes with empty blocks up to 103, and the indexed block 103. */
function nodes() {
  const chain = scriptedChain();
  chain.mine(...empty(3));
  const [indexed, timestamp] = [findRef(chain, 103), chain.blocks.at(-1)?.timestamp ?? 0];
  return { a: chain.node('a'), b: chain.node('b'), indexed, timestamp, clock: manualClock(timestamp * 1000) };
}

const failing = (node: ChainSource): ChainSource => ({ ...node, head: () => Promise.reject(new Error('unavailable')) });

test('the head of the chain is that of a node that responds, if another one fails', async () => {
  const { a, b, indexed, timestamp, clock } = nodes();
  const head = await findChainHead(indexed, { headTime: timestamp, confirmedTo: 99 }, [failing(a), b], clock);
  expect(head).toMatchObject({ number: 103, confirmedTo: 99 });
});

test('the head of the chain is unknown while none of several nodes responds', async () => {
  const { a, b, indexed, timestamp, clock } = nodes();
  const sources = [failing(a), failing(b)];
  const findHead = (headTime: number | undefined) =>
    findChainHead(indexed, { headTime, confirmedTo: undefined }, sources, clock);
  expect(await findHead(timestamp)).toBeUndefined();
  expect(await findHead(undefined)).toBeUndefined();
});
