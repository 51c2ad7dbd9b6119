import type { ChainSource } from 'intentbook';
import { beforeEach, describe, expect, test } from 'vitest';
import { type ScriptedChain, scriptedChain } from '../../support/scripted-chain.ts';
import { empty, indexerFixture, messagesOf, recorded, storedBlocks } from './indexer-fixture.ts';

/** A chain whose first block is 100. */
let chain: ScriptedChain;
beforeEach(() => {
  chain = scriptedChain();
});
const readsOf = (requests: readonly string[]) => requests.filter((each) => /^logs \d/.test(each));

describe('second read of a node that has deleted the logs of old blocks', () => {
  /** A node that has the logs of blocks from a number on. */
  const pruned = (name: string, first: () => number): ChainSource => ({
    ...chain.node(name),
    async logs(query, call) {
      const { of } = query;
      if ('from' in of && of.from < first()) throw new Error('pruned history unavailable');
      return chain.node(name).logs(query, call);
    },
  });
  const options = { reorgLimit: 5, maxBlockRange: 20 };

  test('skips these blocks, and reads each later one', async () => {
    chain.mine(...empty(100));
    const two = recorded(pruned('b', () => 180));
    const stored = storedBlocks(chain, 200, 101);
    const { run, next, observed } = indexerFixture([chain.node('a'), two], { stored, options });
    await run();
    for (let i = 0; i < 300; i++) {
      chain.mine([]);
      await next();
    }
    const read = readsOf(two.requests).flatMap((each) => {
      const [from = 0, to = 0] = each.slice(5).split('..').map(Number);
      return from < 180 ? [] : Array.from({ length: to - from + 1 }, (_, i) => from + i);
    });
    const unread = Array.from({ length: 308 }, (_, i) => 180 + i).filter((block) => !read.includes(block));
    // A quarter of the blocks up to the newest one was skipped, since the node may have deleted more.
    expect(Math.max(...unread)).toBeLessThan(180 + (250 - 180) / 4);
    const count = messagesOf(observed).length;
    two.requests.length = 0;
    chain.mine(...empty(16));
    for (let i = 0; i < 4; i++) await next();
    expect(messagesOf(observed)).toHaveLength(count);
    const newest = Number(readsOf(two.requests).at(-1)?.split('..')[1]);
    expect(newest).toBeGreaterThan(chain.head.number - 4 - 8);
  });

  test('reads later blocks also if the node deletes further ones meanwhile', async () => {
    chain.mine(...empty(100));
    const returned = new Set<number>();
    const first = () => chain.head.number - 24;
    const source = pruned('b', first);
    const two: ChainSource = {
      ...source,
      async logs(query, call) {
        const logs = await source.logs(query, call);
        if ('from' in query.of) for (let block = query.of.from; block <= query.of.to; block++) returned.add(block);
        return logs;
      },
    };
    const stored = storedBlocks(chain, 200, 101);
    const { run, next } = indexerFixture([chain.node('a'), two], { stored, options });
    await run();
    for (let i = 0; i < 200; i++) {
      chain.mine([]);
      await next();
    }
    const missing = Array.from({ length: 40 }, (_, i) => 340 + i).filter((block) => !returned.has(block));
    expect(missing).toEqual([]);
  });

  test('leaves the ranges of other nodes as they are', async () => {
    chain.mine(...empty(100));
    const one = recorded(chain.node('a'));
    const never = pruned('b', () => Infinity);
    const { run, next } = indexerFixture([one, never], { stored: storedBlocks(chain, 200, 101), options });
    await run();
    for (let i = 0; i < 16; i++) {
      chain.mine(...empty(8));
      await next();
      await next();
    }
    expect(readsOf(one.requests).at(-1)).toBe('logs 316..323');
  });

  test('begins at the checkpoint, if the node has no older logs', async () => {
    chain.mine(...empty(100));
    const fixture = indexerFixture([pruned('a', () => 171)], { stored: storedBlocks(chain, 170, 101), options });
    await fixture.run();
    for (let i = 0; i < 3; i++) await fixture.next();
    expect(fixture.indexed).toBe(200);
  });

  /** A node that fails the first read of a block. */
  const failingOnce = (name: string, block: number): ChainSource => {
    let isFirst = true;
    return {
      ...chain.node(name),
      async logs(query, call) {
        const fails = isFirst && 'from' in query.of && query.of.from === block;
        if (fails) isFirst = false;
        return fails ? Promise.reject(new Error('overloaded')) : chain.node(name).logs(query, call);
      },
    };
  };

  test.each([0, 1])('skips no block whose first read failed, on node %d of two', async (i) => {
    chain.mine(...empty(20));
    const nodes = [0, 1].map((n) => recorded(n === i ? failingOnce('a', 110) : chain.node('b')));
    const stored = storedBlocks(chain, 120, 105);
    const { run, next } = indexerFixture(nodes, { stored, options: { reorgLimit: 50, maxBlockRange: 1 } });
    await run();
    for (let n = 0; n < 100; n++) {
      chain.mine([]);
      await next();
    }
    const reads = readsOf(nodes[i]?.requests ?? []).filter((each) => each === 'logs 110..110');
    expect(reads.length).toBeGreaterThan(2); // the second one shows that the block is not deleted
  });

  test('skips no block of a catch-up whose first read failed', async () => {
    chain.mine(...empty(20));
    const node = recorded(failingOnce('a', 106));
    const stored = storedBlocks(chain, 110, 105);
    const fixture = indexerFixture([node], { stored, options: { reorgLimit: 5, maxBlockRange: 1 } });
    await fixture.run();
    for (let n = 0; n < 30; n++) await fixture.next();
    expect(readsOf(node.requests).filter((each) => each === 'logs 106..106').length).toBeGreaterThan(2);
    expect(fixture.indexed).toBe(120);
  });
});
