import type { ChainSource } from 'intentbook';
import { memoryStore } from 'intentbook/memory';
import { beforeEach, describe, expect, test } from 'vitest';
import type { ChainBatch } from '../../../src/chain/decode-batch.ts';
import { manualClock } from '../../support/clock.ts';
import { SEPOLIA_DOMAIN } from '../../support/orders.ts';
import type { ScriptedChain } from '../../support/scripted-chain.ts';
import { scriptedChain } from '../../support/scripted-chain.ts';
import {
  ANOTHER_HASH,
  empty,
  findRef,
  INVALIDATED,
  indexerFixture,
  messagesOf,
  recorded,
  storedBlocks,
  throughs,
  withBlocks,
} from './indexer-fixture.ts';

/** A chain whose first block is 100. */
let chain: ScriptedChain;
beforeEach(() => {
  chain = scriptedChain();
});
const ref = (number: number) => findRef(chain, number);

describe('first checkpoint of the indexer', () => {
  test('is the newest block without a first block', async () => {
    chain.mine([], []);
    const node = recorded(chain.node('a'));
    const { batches, run, waits, observed } = indexerFixture([node]);
    await run();
    expect(batches[0]).toEqual({ events: [], through: ref(102), after: null });
    expect(observed[0]).toEqual({ type: 'progress', block: 102, head: 102 });
    expect(node.requests).toEqual(['head', 'head', 'block 102']);
    expect(waits).toEqual([2000]);
  });

  test('is the block before the first one', async () => {
    chain.mine([], [], []);
    const node = recorded(chain.node('a'));
    const { batches, run } = indexerFixture([node], { options: { fromBlock: 102 } });
    await run();
    expect(batches[0]).toEqual({ events: [], through: ref(101), after: null });
    expect(throughs(batches)).toEqual([101, 102, 103]);
    expect(node.requests.slice(0, 2)).toEqual(['head', 'block 101']);
  });

  test('is stored when the block before the first one exists', async () => {
    const { batches, run, next, waits, indexer } = indexerFixture([chain.node('a')], { options: { fromBlock: 102 } });
    await run();
    expect([batches, waits, indexer.state]).toEqual([[], [2000], 'starting']);
    chain.mine([]);
    await next();
    expect(batches[0]).toEqual({ events: [], through: ref(101), after: null });
  });

  test.each([
    [101, undefined, 101],
    [101, 103, 102],
    [-1, 101, 100],
  ])(
    'is the block of a rollback (%d) that left none, but not before the first one (%j)',
    async (to, first, expected) => {
      chain.mine([], [], []);
      const node = chain.node('a');
      const { batches, run } = indexerFixture([node], { options: { fromBlock: first }, rolledBackTo: to });
      await run();
      expect(batches[0]).toEqual({ events: [], through: ref(expected), after: null, rolledBackTo: to });
      expect(throughs(batches).at(-1)).toBe(103);
    },
  );

  test('follows the last of two rollbacks that left none, although the first one was read', async () => {
    chain.mine([], [], []);
    const store = memoryStore();
    await store.open({ domain: SEPOLIA_DOMAIN, clock: manualClock() });
    const apply = ({ through, after = null, ...seen }: ChainBatch) =>
      store.chain.apply({ ...seen, events: [], blocks: [], through, after, forgetBelow: through.number, at: 0 });
    await apply({ events: [], through: ref(103) });
    await store.chain.rollback({ to: 102, at: 0 });
    let isFirst = true;
    const node: ChainSource = {
      ...chain.node('a'),
      async block(number, call) {
        // Another process rolls back while the indexer reads the block of the first rollback.
        if (isFirst) await store.chain.rollback({ to: 100, at: 0 });
        isFirst = false;
        return chain.node('a').block(number, call);
      },
    };
    const applied: number[] = [];
    const outcomes = {
      progress: store.chain.progress,
      blocks: store.chain.blocks,
      async apply(batch: ChainBatch) {
        const outcome = await apply(batch);
        if (outcome.status === 'applied') applied.push(batch.through.number);
        return outcome;
      },
    };
    await indexerFixture([node], { outcomes }).run();
    expect(applied).toEqual([100, 101, 102, 103]);
  });

  test('is not stored if the node does not have its block', async () => {
    chain.mine([], [], []);
    const node = withBlocks(chain.node('a'), () => undefined);
    const { batches, run, observed } = indexerFixture([node], { options: { fromBlock: 102 } });
    await run();
    expect(batches).toEqual([]);
    expect(messagesOf(observed)).toEqual(['a: it has block 103, but not block 101']);
  });
});

describe('indexer near the head', () => {
  test('applies block by block, each after the one before', async () => {
    chain.mine([INVALIDATED], [], [INVALIDATED]);
    const { batches, run, indexer, observed, waits } = indexerFixture([chain.node('a')], {
      stored: storedBlocks(chain, 101, 100),
    });
    await run();
    expect(batches).toMatchObject([
      { events: [], through: ref(102), after: ref(101) },
      { events: [{ event: 'OrderInvalidated', blockNumber: 103 }], through: ref(103), after: ref(102) },
    ]);
    expect(batches[1]?.events[0]?.timestamp).toBe(chain.head.timestamp);
    expect(observed).toEqual([
      { type: 'progress', block: 102, head: 103 },
      { type: 'progress', block: 103, head: 103 },
    ]);
    expect([indexer.state, waits]).toEqual(['following', [2000]]);
  });

  test('does not apply a block whose parent is another block, and finds the fork in the next step', async () => {
    chain.mine(...empty(2));
    const node = withBlocks(chain.node('a'), (number, block) =>
      block && number === 101 ? { ...block, parentHash: ANOTHER_HASH } : block,
    );
    const { batches, run, waits } = indexerFixture([node], { stored: storedBlocks(chain, 100, 100) });
    await run();
    expect(batches).toEqual([]);
    expect(waits).toEqual([2000]);
  });

  test('reports a block that the node does not have', async () => {
    chain.mine(...empty(3));
    const node = withBlocks(chain.node('a'), (number, block) => (number === 102 ? undefined : block));
    const { batches, run, observed } = indexerFixture([node], { stored: storedBlocks(chain, 100, 100) });
    await run();
    expect(throughs(batches)).toEqual([101]);
    expect(messagesOf(observed)).toEqual(['a: it has block 103, but not block 102']);
  });

  test('reports a node without the checkpoint', async () => {
    chain.mine(...empty(3));
    const node = withBlocks(chain.node('a'), () => undefined);
    const { run, observed } = indexerFixture([node], { stored: storedBlocks(chain, 101, 100) });
    await run();
    expect(messagesOf(observed)).toEqual(['a: it has block 103, but not block 101']);
  });

  test('stops at a block of which another process has moved the checkpoint', async () => {
    chain.mine(...empty(3));
    const applied: number[] = [];
    const { run, waits, observed } = indexerFixture([chain.node('a')], {
      stored: storedBlocks(chain, 100, 100),
      outcomes: {
        async apply({ through }) {
          applied.push(through.number);
          return { status: 'moved', indexedBlock: null };
        },
      },
    });
    await run();
    expect([applied, waits, observed]).toEqual([[101], [2000], []]);
  });

  test('reports a block that is stored with another hash', async () => {
    chain.mine([]);
    const { run, observed } = indexerFixture([chain.node('a')], {
      stored: storedBlocks(chain, 100, 100),
      outcomes: {
        apply: async () => ({ status: 'conflict', block: 101, stored: ANOTHER_HASH, indexedBlock: ref(100) }),
      },
    });
    await run();
    expect(messagesOf(observed)).toEqual([`a: block 101 has another hash than ${ANOTHER_HASH}`]);
  });
});

describe('indexer backfill step', () => {
  test.each([
    [111, 'following', 'logs of block'],
    [112, 'catching up', 'logs 101..102'], // block 101 was read once only
  ])('with the checkpoint at block 101 and the head at block %d is %s', async (head, state, request) => {
    chain.mine(...empty(head - 100));
    const states: string[] = [];
    const node = recorded(chain.node('a'));
    const { run, indexer } = indexerFixture(
      [
        {
          ...node,
          logs(query, call) {
            states.push(indexer.state);
            return node.logs(query, call);
          },
        },
      ],
      { stored: storedBlocks(chain, 101, 100) },
    );
    await run();
    expect(states[0]).toBe(state);
    expect(node.requests.find((each) => each.startsWith('logs'))).toBe(request);
    expect(indexer.state).toBe('following');
  });

  test('reads ranges up to the reorganisation limit below the head, then single blocks', async () => {
    chain.mine([], [INVALIDATED], ...empty(28));
    const node = recorded(chain.node('a'));
    const { batches, run, observed, waits } = indexerFixture([node], {
      stored: storedBlocks(chain, 100, 100),
      options: { maxBlockRange: 15 },
    });
    await run();
    expect(node.requests.filter((each) => each.startsWith('logs '))).toEqual([
      'logs 101..115',
      'logs 116..120',
      ...Array.from({ length: 10 }, () => 'logs of block'),
    ]);
    expect(batches[0]).toMatchObject({
      events: [{ blockNumber: 102 }],
      through: ref(115),
      after: ref(100),
    });
    expect(batches[1]).toMatchObject({ events: [], through: ref(120), after: ref(115) });
    expect(throughs(batches).slice(1)).toEqual([120, 121, 122, 123, 124, 125, 126, 127, 128, 129, 130]);
    expect(observed[0]).toEqual({ type: 'progress', block: 115, head: 130 });
    expect(waits).toEqual([2000]);
  });

  test.each<[string, number]>([
    ['it has block 140, but not block 110', 110],
    ['it has block 140, but not block 111', 111],
  ])('fails if the node reports that %s', async (message, missing) => {
    chain.mine(...empty(40));
    const node = withBlocks(chain.node('a'), (number, block) => (number === missing ? undefined : block));
    const { batches, run, observed } = indexerFixture([node], {
      stored: storedBlocks(chain, 100, 100),
      options: { maxBlockRange: 10 },
    });
    await run();
    expect([batches, messagesOf(observed)]).toEqual([[], [`a: ${message}`]]);
  });

  test('fails if the next block names another hash', async () => {
    chain.mine(...empty(40));
    const node = withBlocks(chain.node('a'), (number, block) =>
      block && number === 111 ? { ...block, parentHash: ANOTHER_HASH } : block,
    );
    const { batches, run, observed } = indexerFixture([node], {
      stored: storedBlocks(chain, 100, 100),
      options: { maxBlockRange: 10 },
    });
    await run();
    expect([batches, messagesOf(observed)]).toEqual([[], ['a: block 110 has two hashes']]);
  });

  test('fails if the logs of the last block name another hash, and accepts it in other blocks', async () => {
    chain.mine(...empty(9), [INVALIDATED], ...empty(30));
    const stored = storedBlocks(chain, 100, 100);
    const node = chain.node('a', (question, answer) =>
      question === 'logs' && Array.isArray(answer)
        ? (answer.map((log) => ({ ...log, blockHash: ANOTHER_HASH })) as typeof answer)
        : answer,
    );
    const last = indexerFixture([node], { stored, options: { maxBlockRange: 10 } });
    await last.run();
    expect([last.batches, messagesOf(last.observed)]).toEqual([[], ['a: block 110 has two hashes']]);

    const inside = indexerFixture([node], { stored, options: { maxBlockRange: 20 } });
    await inside.run();
    expect(inside.batches[0]).toMatchObject({ events: [{ blockNumber: 110 }], through: ref(120) });
  });

  test('halves a range that the node rejects, and reports each rejection', async () => {
    chain.mine(...empty(40));
    const node = recorded(chain.node('a'));
    const limited = {
      ...node,
      logs: (query: Parameters<typeof node.logs>[0], call: Parameters<typeof node.logs>[1]) => {
        const logs = node.logs(query, call);
        if ('from' in query.of && query.of.to - query.of.from > 6) throw new Error('too many blocks');
        return logs;
      },
    };
    const { batches, run, observed } = indexerFixture([limited], {
      stored: storedBlocks(chain, 100, 100),
      options: { maxBlockRange: 20 },
    });
    await run();
    expect(node.requests.filter((each) => each.startsWith('logs 1')).slice(0, 4)).toEqual([
      'logs 101..120',
      'logs 101..110',
      'logs 101..105',
      'logs 106..112',
    ]);
    // The node responds otherwise, so the range is the cause.
    expect(node.requests.slice(2, 4)).toEqual(['logs 101..120', 'head']);
    expect(messagesOf(observed)).toEqual(['a: too many blocks', 'a: too many blocks']);
    expect(throughs(batches).slice(0, 2)).toEqual([105, 112]);
  });

  test('uses the next node if the logs of a single block cannot be read', async () => {
    chain.mine(...empty(40));
    const broken = chain.node('broken', (question, answer) =>
      question === 'logs' ? Promise.reject(new Error('no logs')) : answer,
    );
    const { run, observed, indexed, batches } = indexerFixture([broken, chain.node('b')], {
      stored: storedBlocks(chain, 100, 100),
      options: { maxBlockRange: 1 },
    });
    await run();
    expect(indexed).toBe(100);
    expect(messagesOf(observed)[0]).toBe('broken: no logs');
    expect(throughs(batches)[0]).toBe(101);
  });

  test('uses the next node if this one does not respond at all', async () => {
    chain.mine(...empty(40));
    let heads = 0;
    const broken = chain.node('broken', (question, answer) => {
      if (question === 'logs') throw new Error('no logs');
      if (question === 'head' && ++heads === 2) throw new Error('no head');
      return answer;
    });
    const next = recorded(chain.node('b'));
    const { run, observed } = indexerFixture([broken, next], {
      stored: storedBlocks(chain, 100, 100),
      options: { maxBlockRange: 20 },
    });
    await run();
    expect(messagesOf(observed)[0]).toBe('broken: no head');
    expect(next.requests.find((each) => each.startsWith('logs'))).toBe('logs 101..120');
  });
});
