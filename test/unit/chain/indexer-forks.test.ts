import type { ChainSource } from 'intentbook';
import { StoreError } from 'intentbook';
import { beforeEach, describe, expect, test } from 'vitest';
import type { ScriptedChain } from '../../support/scripted-chain.ts';
import { scriptedChain } from '../../support/scripted-chain.ts';
import {
  empty,
  findRef,
  foreign,
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

describe('indexer second read', () => {
  const readsOf = (requests: readonly string[]) => requests.filter((each) => /^logs \d/.test(each));

  test('after a start covers all blocks whose hashes are stored, except for the newest four', async () => {
    chain.mine(...empty(30));
    const many = recorded(chain.node('a'));
    await indexerFixture([many], { stored: storedBlocks(chain, 130, 100), options: { reorgLimit: 5 } }).run();
    expect(readsOf(many.requests)).toEqual(['logs 101..126']);

    const few = recorded(chain.node('a'));
    await indexerFixture([few], { stored: storedBlocks(chain, 130, 124) }).run();
    expect(readsOf(few.requests)).toEqual(['logs 125..126']);
  });

  test('has no block to read before four others are stored', async () => {
    chain.mine(...empty(4));
    const node = recorded(chain.node('a'));
    const { run, next } = indexerFixture([node], { stored: storedBlocks(chain, 104, 100) });
    await run();
    expect(readsOf(node.requests)).toEqual([]);
    chain.mine([]);
    await next();
    expect(readsOf(node.requests)).toEqual(['logs 101..101']);
  });

  test('covers groups of eight blocks, from each node', async () => {
    chain.mine(...empty(30));
    const [one, two] = [recorded(chain.node('a')), recorded(chain.node('b'))];
    const { run, next } = indexerFixture([one, two], { stored: storedBlocks(chain, 130, 120) });
    await run();
    chain.mine(...empty(7));
    await next();
    expect(readsOf(two.requests)).toEqual(['logs 121..126']);
    chain.mine([]);
    await next();
    expect(readsOf(two.requests)).toEqual(['logs 121..126', 'logs 127..134']);
    expect(readsOf(one.requests)).toEqual(['logs 121..133']);
  });

  test('covers what one node had late and another one omits', async () => {
    chain.mine(...empty(20));
    let isLate = true;
    const one = chain.node('a', (question, answer) => (question === 'logs' && isLate ? ([] as never) : answer));
    const two = chain.node('b', (question, answer) => (question === 'logs' ? ([] as never) : answer));
    const { run, next, observed } = indexerFixture([one, two], { stored: storedBlocks(chain, 120, 120) });
    chain.mine(...empty(4), [INVALIDATED], ...empty(5));
    await run();
    isLate = false;
    await next();
    expect(observed).toContainEqual({ type: 'missed', events: 1, block: 126 });
  });

  test('applies missed events at the checkpoint and reports those that are new', async () => {
    chain.mine(...empty(24), [INVALIDATED], ...empty(5));
    const { run, batches, observed } = indexerFixture([chain.node('a')], { stored: storedBlocks(chain, 130, 120) });
    await run();
    expect(batches).toMatchObject([{ events: [{ blockNumber: 125 }], through: ref(130), after: ref(130) }]);
    expect(observed).toEqual([{ type: 'missed', events: 1, block: 126 }]);
  });

  test('after a start begins at the checkpoint of the start, however many blocks follow', async () => {
    chain.mine(...empty(29), [INVALIDATED], ...empty(9));
    const node = recorded(chain.node('a'));
    // Another process has read block 130 once; this one follows nine more blocks in its first step.
    const { run } = indexerFixture([node], { stored: storedBlocks(chain, 130, 120) });
    await run();
    expect(readsOf(node.requests)).toContain('logs 121..135');
  });

  test('covers blocks again after another process has indexed them', async () => {
    chain.mine(...empty(30));
    const node = recorded(chain.node('a'));
    let term = 1;
    const { run, next } = indexerFixture([node], {
      stored: storedBlocks(chain, 130, 120),
      leases: { acquire: async () => ({ status: 'held', term, expiresAt: 0 }) },
    });
    await run();
    await next();
    expect(readsOf(node.requests)).toEqual(['logs 121..126']);
    term = 3;
    await next();
    expect(readsOf(node.requests)).toEqual(['logs 121..126', 'logs 121..126']);
  });

  test('is repeated by the current node if the next one has another fork, which reads all blocks later', async () => {
    chain.mine(...empty(24), [INVALIDATED], ...empty(5));
    const other = scriptedChain('another');
    other.mine(...empty(30));
    let isForked = true;
    const [one, two] = [recorded(chain.node('a')), recorded(chain.node('b'))];
    const node: ChainSource = {
      ...two,
      block: (number, call) => (isForked ? other.node('b') : chain.node('b')).block(number, call),
    };
    const { run, next, batches } = indexerFixture([one, node], { stored: storedBlocks(chain, 130, 120) });
    await run();
    expect(batches).toEqual([]);
    await next();
    expect(batches).toMatchObject([{ events: [{ blockNumber: 125 }] }]);
    expect([readsOf(one.requests), readsOf(two.requests)]).toEqual([['logs 121..126'], []]);
    isForked = false;
    chain.mine(...empty(8));
    await next();
    expect([readsOf(one.requests), readsOf(two.requests)]).toEqual([['logs 121..126'], ['logs 121..134']]);
  });

  test('covers the ranges of a long catch-up, from another node only', async () => {
    chain.mine(...empty(24), [INVALIDATED], ...empty(35));
    const one = recorded(chain.node('a', (question, answer) => (question === 'logs' ? ([] as never) : answer)));
    const two = recorded(chain.node('b'));
    const options = { reorgLimit: 5, maxBlockRange: 20 };
    const { run, next, observed } = indexerFixture([one, two], { stored: storedBlocks(chain, 100, 100), options });
    await run();
    await next();
    await next();
    expect(observed).toContainEqual({ type: 'missed', events: 1, block: 140 });
    expect(readsOf(two.requests)).toEqual(['logs 101..120', 'logs 121..140', 'logs 141..156']);
    expect(readsOf(one.requests)).toEqual(['logs 101..120', 'logs 121..140', 'logs 141..155']);
  });

  test('covers the blocks of each node from another one after the current node has changed', async () => {
    chain.mine(...empty(24), [INVALIDATED], ...empty(5));
    let isDown = false;
    const hides = (question: string, answer: unknown) =>
      isDown ? Promise.reject(new Error('down')) : question === 'logs' ? [] : answer;
    const one = chain.node('a', (question, answer) => hides(question, answer) as never);
    const fails = (question: string, answer: unknown) =>
      question === 'logs' && !isDown ? Promise.reject(new Error('busy')) : answer;
    const two = chain.node('b', (question, answer) => fails(question, answer) as never);
    const { run, next, observed } = indexerFixture([one, two], { stored: storedBlocks(chain, 120, 120) });
    await run();
    isDown = true;
    chain.mine(...empty(9));
    for (let i = 0; i < 4; i++) await next();
    expect(messagesOf(observed).slice(0, 2)).toEqual(['b: busy', 'a: down']);
    expect(observed).toContainEqual({ type: 'missed', events: 1, block: 127 });
  });

  test('covers what each node has read first from the other one, which was busy, after both have changed places', async () => {
    chain.mine(...empty(24), [INVALIDATED], ...empty(35));
    let state: 'one' | 'change' | 'two' = 'one';
    const omit = (block: number, answer: unknown) =>
      (answer as { readonly blockNumber: number }[]).filter(({ blockNumber }) => blockNumber !== block);
    const one = chain.node('a', (question, answer) => {
      if (question === 'head' && state === 'change') return Promise.reject(new Error('down')) as never;
      return (question === 'logs' ? omit(125, answer) : answer) as never;
    });
    const two = chain.node('b', (question, answer) => {
      if (question === 'logs' && state === 'one') return Promise.reject(new Error('busy')) as never;
      return (question === 'logs' ? omit(162, answer) : answer) as never;
    });
    const options = { reorgLimit: 5, maxBlockRange: 23 };
    const { run, next, observed } = indexerFixture([one, two], { stored: storedBlocks(chain, 100, 100), options });
    await run();
    state = 'change';
    chain.mine([], [INVALIDATED], ...empty(10));
    await next();
    state = 'two';
    for (let i = 0; i < 8; i++) {
      chain.mine(...empty(8));
      await next();
    }
    expect(observed.filter(({ type }) => type === 'missed')).toHaveLength(2);
  });

  test('of a node that contradicts the stored events is a failure of that node, and is repeated', async () => {
    chain.mine(...empty(24), [INVALIDATED], ...empty(5));
    const conflict = { status: 'conflict', block: 125, log: 0, stored: ref(125).hash, indexedBlock: ref(130) } as const;
    const { run, next, observed } = indexerFixture([chain.node('a'), chain.node('b')], {
      stored: storedBlocks(chain, 130, 120),
      outcomes: { apply: async () => conflict },
    });
    await run();
    await next();
    const failure = 'log 0 of block 125 contradicts another log, or the calldata of its transaction';
    expect(messagesOf(observed)).toEqual([`b: ${failure}`, `a: ${failure}`]);
  });

  test('of a node that was unreachable covers what the current one has repeated', async () => {
    chain.mine(...empty(24), [INVALIDATED], ...empty(5));
    const one = chain.node('a', (question, answer) => (question === 'logs' ? ([] as never) : answer));
    let isDown = true;
    const two = chain.node('b', (_, answer) => (isDown ? (Promise.reject(new Error('down')) as never) : answer));
    const { run, next, observed } = indexerFixture([one, two], { stored: storedBlocks(chain, 130, 120) });
    await run();
    await next();
    chain.mine(...empty(3));
    await next();
    isDown = false;
    chain.mine(...empty(5));
    await next();
    expect(messagesOf(observed)).toEqual(['b: down']);
    expect(observed).toContainEqual({ type: 'missed', events: 1, block: 134 });
  });

  test('is repeated if the blocks are the newest ones of the node', async () => {
    chain.mine(...empty(24), [INVALIDATED], ...empty(5));
    // A node has a block before it has the logs of the block.
    let newest = 126;
    const two = recorded(chain.node('b'));
    const node: ChainSource = {
      ...two,
      block: async (number, call) => (number > newest ? undefined : two.block(number, call)),
      logs: async (query, call) => (newest === 126 ? [] : two.logs(query, call)),
    };
    const { run, next, batches } = indexerFixture([chain.node('a'), node], { stored: storedBlocks(chain, 130, 120) });
    await run();
    expect(batches).toEqual([]);
    newest = 130;
    await next();
    expect(batches).toMatchObject([{ events: [{ blockNumber: 125 }] }]);
  });

  test('is repeated if the node changes its fork meanwhile', async () => {
    chain.mine(...empty(24), [INVALIDATED], ...empty(5));
    const other = scriptedChain('another');
    other.mine(...empty(30));
    let onOther = false;
    let changes = true;
    const node: ChainSource = {
      ...chain.node('b'),
      block: (number, call) => (onOther ? other.node('b') : chain.node('b')).block(number, call),
      async logs(query, call) {
        onOther = changes;
        return changes ? [] : chain.node('b').logs(query, call);
      },
    };
    const { run, next, batches } = indexerFixture([chain.node('a'), node], { stored: storedBlocks(chain, 130, 120) });
    await run();
    expect(batches).toEqual([]);
    [onOther, changes] = [false, false];
    await next();
    expect(batches).toMatchObject([{ events: [{ blockNumber: 125 }] }]);
  });

  test('covers blocks again after another process has rolled them back', async () => {
    chain.mine(...empty(30));
    const node = recorded(chain.node('a'));
    let stored = storedBlocks(chain, 130, 120);
    const { run, next } = indexerFixture([node], {
      outcomes: { progress: async () => ({ indexedBlock: stored[0] ?? null }), blocks: async () => stored },
    });
    await run();
    stored = storedBlocks(chain, 124, 120);
    await next();
    stored = storedBlocks(chain, 130, 120);
    chain.mine(...empty(6));
    await next();
    expect(readsOf(node.requests)).toEqual(['logs 121..126', 'logs 125..132']);
  });

  test('precedes the range of blocks that were mined while the node was unreachable', async () => {
    chain.mine([INVALIDATED]);
    let hides = true;
    const node = recorded(
      chain.node('a', (question, answer) => (question === 'logs' && hides ? ([] as never) : answer)),
    );
    const { run, next, batches } = indexerFixture([node], { stored: storedBlocks(chain, 100, 100) });
    await run();
    hides = false;
    chain.mine(...empty(30));
    await next();
    expect(batches.flatMap(({ events }) => events)).toMatchObject([{ blockNumber: 101 }]);
    expect(readsOf(node.requests)[0]).toBe('logs 101..121');
  });

  test('does not report events that are known', async () => {
    chain.mine(...empty(24), [INVALIDATED], ...empty(5));
    const node = recorded(chain.node('a'));
    const { run, next, observed } = indexerFixture([node], {
      stored: storedBlocks(chain, 130, 120),
      outcomes: { apply: async () => ({ status: 'applied', applied: 0, known: 1, indexedBlock: ref(130) }) },
    });
    await run();
    await next();
    expect(observed).toEqual([]);
    expect(readsOf(node.requests)).toHaveLength(1);
  });

  test('is repeated if the checkpoint has moved in the meantime', async () => {
    chain.mine(...empty(24), [INVALIDATED], ...empty(5));
    const node = recorded(chain.node('a'));
    const { run, next, observed } = indexerFixture([node], {
      stored: storedBlocks(chain, 130, 120),
      outcomes: { apply: async () => ({ status: 'moved', indexedBlock: null }) },
    });
    await run();
    await next();
    expect(readsOf(node.requests)).toEqual(['logs 121..126', 'logs 121..126']);
    expect(observed).toEqual([]);
  });

  test('reports a failure, and reads from the next node, without a change of the current one', async () => {
    chain.mine(...empty(30));
    const broken = recorded(
      chain.node('b', (question, answer) =>
        question === 'logs' || question === 'head' ? Promise.reject(new Error('down')) : answer,
      ),
    );
    const node = recorded(chain.node('a'));
    const { run, next, observed, indexer } = indexerFixture([node, broken], { stored: storedBlocks(chain, 130, 120) });
    await run();
    expect(messagesOf(observed)).toEqual(['b: down']);
    await next();
    expect(readsOf(broken.requests)).toEqual(['logs 121..126']);
    expect(readsOf(node.requests)).toEqual(['logs 121..126']);
    expect(indexer.state).toBe('following');
  });

  test('is limited by the range that nodes accept, and continues with the next block', async () => {
    chain.mine(...empty(30));
    const node = recorded(chain.node('a'));
    const { run, next } = indexerFixture([node], {
      stored: storedBlocks(chain, 130, 120),
      options: { maxBlockRange: 4 },
    });
    await run();
    expect(readsOf(node.requests)).toEqual(['logs 121..124']);
    chain.mine(...empty(6));
    await next();
    expect(readsOf(node.requests)).toEqual(['logs 121..124', 'logs 125..128']);
  });

  test('covers blocks again after a reorganisation', async () => {
    chain.mine(...empty(30));
    const node = recorded(chain.node('a'));
    const { run, next } = indexerFixture([node], {
      stored: storedBlocks(chain, 130, 110),
      options: { reorgLimit: 20 },
    });
    await run();
    chain.reorganise(8, ...empty(14));
    await next();
    expect(readsOf(node.requests)).toEqual(['logs 111..126', 'logs 123..132']);
  });

  test('passes on a failure of the store', async () => {
    chain.mine(...empty(24), [INVALIDATED], ...empty(5));
    const failure = new StoreError('Unavailable', 'the store is down');
    const { run, failures, observed } = indexerFixture([chain.node('a')], {
      stored: storedBlocks(chain, 130, 120),
      outcomes: { apply: () => Promise.reject(failure) },
    });
    await run();
    expect([failures, observed]).toEqual([[failure], []]);
  });
});

describe('indexer fork', () => {
  test('is rolled back to the newest block that the node still has', async () => {
    chain.mine(...empty(10));
    const stored = [foreign(106), foreign(105), ...storedBlocks(chain, 104, 100)];
    const { run, rollbacks, observed, batches } = indexerFixture([chain.node('a')], { stored });
    await run();
    expect(rollbacks).toEqual([[104, foreign(106)]]);
    expect(observed[0]).toEqual({ type: 'reorganised', from: foreign(106), to: 104 });
    expect(throughs(batches)).toEqual([105, 106, 107, 108, 109, 110]);
  });

  test('is not reported if another process has rolled it back', async () => {
    chain.mine(...empty(10));
    let stored = [foreign(106), ...storedBlocks(chain, 104, 100)];
    const { run, observed } = indexerFixture([chain.node('a')], {
      outcomes: {
        progress: async () => ({ indexedBlock: stored[0] ?? null }),
        blocks: async () => stored,
        async rollback() {
          stored = storedBlocks(chain, 110, 100);
          return { status: 'moved', indexedBlock: ref(110) };
        },
      },
    });
    await run();
    expect(observed).toEqual([]);
  });

  test.each([
    [10, true],
    [11, false],
  ])('%d blocks deep with a limit of 10', async (depth, isFound) => {
    chain.mine(...empty(40));
    const top = 120;
    const stored = [
      ...Array.from({ length: depth }, (_, i) => foreign(top - i)),
      ...storedBlocks(chain, top - depth, top - depth - 3),
    ];
    const { run, next, rollbacks, indexer, failures } = indexerFixture([chain.node('a')], { stored });
    await run();
    for (let i = 0; i < 7; i++) await next(30_000);
    if (isFound) {
      expect(rollbacks).toEqual([[top - depth, foreign(top)]]);
      expect(failures).toEqual([]);
      return;
    }
    const message =
      `block 120 is no longer ${foreign(120).hash}, and the 10 blocks before it have changed too; ` +
      'roll back to a block that is still on the chain (intentbook rollback --to-block <block>)';
    expect([rollbacks, indexer.state, indexer.stopReason]).toEqual([[], 'stopped', message]);
    expect(failures).toMatchObject([{ name: 'ReorganisationTooDeep', message }]);
  });

  test('below the limit on one of the machines behind an address does not stop the indexer', async () => {
    chain.mine(...empty(40));
    const other = scriptedChain('b');
    other.mine(...empty(50));
    let answering = other;
    const node: ChainSource = {
      ...chain.node('a'),
      head: (call) => answering.node('a').head(call),
      block: (number, call) => answering.node('a').block(number, call),
    };
    const fixture = indexerFixture([node], { stored: storedBlocks(chain, 138, 110) });
    await fixture.run();
    for (let i = 0; i < 5; i++) await fixture.next(30_000);
    expect(fixture.indexer.state).toBe('unavailable');
    answering = chain;
    await fixture.next(30_000);
    expect([fixture.indexer.state, fixture.indexed, fixture.failures]).toEqual(['following', 140, []]);
  });

  test('is not below the limit if the node does not return a block', async () => {
    chain.mine(...empty(40));
    const stored = [foreign(120), ...storedBlocks(chain, 119, 100)];
    const node = withBlocks(chain.node('a'), (number, block) => (number < 120 ? undefined : block));
    const fixture = indexerFixture([node], { stored });
    await fixture.run();
    expect([fixture.rollbacks, messagesOf(fixture.observed)]).toEqual([[], ['a: it has block 140, but not block 119']]);
  });

  test.each([
    [10, [[109, 120]]],
    [11, []],
  ])(
    'that has replaced the first checkpoint, %d blocks below, starts anew within the limit',
    async (depth, expected) => {
      chain.mine(...empty(40));
      const stored = [foreign(120), foreign(120 - depth)];
      const { run, next, rollbacks, batches, indexer } = indexerFixture([chain.node('a')], { stored });
      await run();
      for (let i = 0; i < 7; i++) await next(30_000);
      expect(rollbacks.map(([to, after]) => [to, after.number])).toEqual(expected);
      const begin = { events: [], through: ref(109), after: null, rolledBackTo: 109 };
      if (expected.length > 0) expect(batches[0]).toEqual(begin);
      else expect(indexer.state).toBe('stopped');
    },
  );

  test('to a shorter chain is found by the newest stored block below its head', async () => {
    chain.mine(...empty(3));
    const stored = [foreign(106), foreign(105), foreign(103), ...storedBlocks(chain, 102, 100)];
    const { run, rollbacks } = indexerFixture([chain.node('a')], { stored });
    await run();
    expect(rollbacks).toEqual([[102, foreign(106)]]);
  });

  test.each([
    ['has the indexed block', true, []],
    ['does not have it', false, [[102, foreign(106)]]],
  ])('to a shorter chain is checked with the other node, which %s', async (_, has, expected) => {
    chain.mine(...empty(3));
    const stored = [foreign(106), foreign(105), foreign(103), ...storedBlocks(chain, 102, 100)];
    const other = chain.node('b');
    const indexed = { ...foreign(106), parentHash: foreign(105).hash, timestamp: 0 };
    const ahead: ChainSource = { ...other, head: async () => indexed, block: async () => indexed };
    const { run, rollbacks } = indexerFixture([chain.node('a'), has ? ahead : other], { stored });
    await run();
    expect(rollbacks.slice(0, 1)).toEqual(expected);
  });

  test('does not exist if a node with a shorter chain has the stored blocks', async () => {
    chain.mine(...empty(3));
    const node = recorded(chain.node('a'));
    const stored = [foreign(106), foreign(105), ...storedBlocks(chain, 102, 100)];
    const behind = indexerFixture([node], { stored });
    await behind.run();
    expect([behind.rollbacks, behind.waits]).toEqual([[], [2000]]);
    expect(node.requests).toEqual(['head', 'block 102']);

    const same = recorded(chain.node('a'));
    await indexerFixture([same], { stored: [foreign(106), ...storedBlocks(chain, 103, 100)] }).run();
    expect(same.requests).toEqual(['head']);

    const below = indexerFixture([chain.node('a')], { stored: [foreign(106), foreign(105)] });
    await below.run();
    expect([below.rollbacks, below.waits]).toEqual([[], [2000]]);
  });

  test('is not assumed if the node lacks the stored block', async () => {
    chain.mine(...empty(3));
    const node = withBlocks(chain.node('a'), () => undefined);
    const { run, rollbacks, observed } = indexerFixture([node], {
      stored: [foreign(106), ...storedBlocks(chain, 102, 100)],
    });
    await run();
    expect(rollbacks).toEqual([]);
    expect(messagesOf(observed)).toEqual(['a: it has block 103, but not block 102']);
  });
});
