import { ChainMismatch, StoreError } from 'intentbook';
import { beforeEach, describe, expect, test } from 'vitest';
import type { ScriptedChain } from '../../support/scripted-chain.ts';
import { scriptedChain } from '../../support/scripted-chain.ts';
import { foreign, indexerFixture, messagesOf, recorded, settle, storedBlocks } from './indexer-fixture.ts';

let chain: ScriptedChain;
beforeEach(() => {
  chain = scriptedChain();
});
const down = (name: string) => chain.node(name, () => Promise.reject(new Error('down')));
const stored = () => storedBlocks(chain, 100, 100);

describe('indexer loop', () => {
  test('polls at the interval, also when it is restarted', async () => {
    const node = recorded(chain.node('a'));
    const { indexer, run, next, waits } = indexerFixture([node], { stored: stored(), options: { pollInterval: 700 } });
    await run();
    indexer.start();
    await settle();
    expect([waits, node.requests]).toEqual([[700], ['head', 'block 100']]);
    await next(699);
    expect(waits).toEqual([700]);
    await next(1);
    expect(waits).toEqual([700, 700]);
    await indexer.stop();
    await next(700);
    expect(waits).toEqual([700, 700]);
    await run();
    expect(waits).toEqual([700, 700, 700]);
  });

  test('ends its wait when it stops, and releases its lease', async () => {
    const { indexer, run, clock, released, acquired, failures } = indexerFixture([chain.node('a')], {
      stored: stored(),
    });
    await run();
    expect(clock.pending).toBe(1);
    await indexer.stop();
    expect(clock.pending).toBe(0);
    expect(acquired).toEqual([{ name: 'follow the chain', holder: 'me', ttl: 15_000 }]);
    expect(released).toEqual([{ name: 'follow the chain', holder: 'me' }]);
    expect([indexer.state, indexer.stopReason, failures]).toEqual(['following', undefined, []]);
  });

  test('aborts a request when it stops, without a report', async () => {
    const node = { ...chain.node('a'), head: () => new Promise<never>(() => {}) };
    const { indexer, run, observed, failures } = indexerFixture([node], { stored: stored() });
    await run();
    expect(indexer.state).toBe('starting');
    await indexer.stop();
    expect([observed, failures, indexer.state]).toEqual([[], [], 'starting']);
  });

  test('does not advance after it has stopped', async () => {
    chain.mine([], [], []);
    const { indexer, run, batches } = indexerFixture(
      [
        {
          ...chain.node('a'),
          logs: async () => {
            void indexer.stop();
            return [];
          },
        },
      ],
      { stored: stored() },
    );
    await run();
    expect(batches.length).toBeLessThanOrEqual(1);
  });

  test('reports a lease that cannot be released', async () => {
    const failure = new Error('the store is down');
    const { indexer, run, failures } = indexerFixture([chain.node('a')], {
      stored: stored(),
      leases: { release: () => Promise.reject(failure) },
    });
    await run();
    await indexer.stop();
    expect(failures).toEqual([failure]);
  });

  test('stands by while another process has the lease, and follows when it is free', async () => {
    let isFree = false;
    const node = recorded(chain.node('a'));
    const { indexer, run, next, waits, observed } = indexerFixture([node], {
      stored: stored(),
      leases: {
        acquire: async () =>
          isFree ? { status: 'held', term: 1, expiresAt: 0 } : { status: 'taken', holder: 'another', expiresAt: 0 },
      },
    });
    await run();
    expect([indexer.state, waits, node.requests]).toEqual(['standing by', [2000], []]);
    await next();
    expect(observed).toEqual([{ type: 'standingBy' }]);
    isFree = true;
    await next();
    expect([indexer.state, node.requests]).toEqual(['following', ['head', 'block 100']]);
  });

  test('verifies the chain of a node once', async () => {
    let verified = 0;
    const node = {
      ...chain.node('a'),
      verify: async () => {
        verified++;
      },
    };
    const { run, next } = indexerFixture([node], { stored: stored() });
    await run();
    await next();
    expect(verified).toBe(1);
  });
});

describe('indexer whose nodes fail', () => {
  test('waits twice as long after each round of failures, up to 30 seconds, and resets with a success', async () => {
    let broken = true;
    const node = chain.node('a', (_, answer) => (broken ? Promise.reject(new Error('down')) : answer));
    const { indexer, run, next, waits } = indexerFixture([node], { stored: stored() });
    await run();
    expect(indexer.state).toBe('unavailable');
    for (let i = 0; i < 8; i++) await next(waits.at(-1));
    expect(waits).toEqual([500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000]);
    broken = false;
    await next(30_000);
    expect(waits.at(-1)).toBe(2000);
    broken = true;
    await next(2000);
    expect(waits.at(-1)).toBe(500);
  });

  test('uses the next node at once, and waits when all have failed', async () => {
    const { run, next, waits, observed } = indexerFixture([down('a'), down('b')], { stored: stored() });
    await run();
    expect(messagesOf(observed)).toEqual(['a: down', 'b: down']);
    expect(waits).toEqual([500]);
    await next(500);
    expect(messagesOf(observed)).toHaveLength(4);
    expect(waits).toEqual([500, 1000]);
  });

  test('stays with the node that has responded', async () => {
    const healthy = recorded(chain.node('b'));
    const { run, next, observed, indexer } = indexerFixture([down('a'), healthy], { stored: stored() });
    await run();
    await next();
    expect(messagesOf(observed)).toEqual(['a: down']);
    expect(healthy.requests).toEqual(['head', 'block 100', 'head', 'block 100']);
    expect(indexer.state).toBe('following');
  });

  test('removes nodes of another chain, reports each, and stops without nodes', async () => {
    const wrong = (name: string) =>
      chain.node(name, (question, answer) =>
        question === 'verify' ? Promise.reject(new ChainMismatch(`${name} serves another chain`)) : answer,
      );
    const { indexer, run, waits, failures, observed } = indexerFixture([wrong('a'), wrong('b')], { stored: stored() });
    await run();
    expect([indexer.state, indexer.stopReason]).toEqual(['stopped', 'every node serves another chain']);
    expect(failures).toMatchObject([{ message: 'a serves another chain' }, { message: 'b serves another chain' }]);
    expect(messagesOf(observed)).toHaveLength(2);
    expect(waits).toEqual([]);

    const one = indexerFixture([wrong('a'), chain.node('b')], { stored: stored() });
    await one.run();
    expect([one.indexer.state, one.indexer.stopReason]).toEqual(['following', undefined]);
  });

  test.each([
    [100, 500],
    [2000, 2000],
  ])('waits after a failure of the store: polled each %d ms, %d ms', async (pollInterval, wait) => {
    const failure = new StoreError('Unavailable', 'the store is down');
    const { indexer, run, waits, failures, observed } = indexerFixture([chain.node('a')], {
      options: { pollInterval },
      outcomes: { progress: () => Promise.reject(failure) },
    });
    await run();
    expect([waits, failures, observed, indexer.state]).toEqual([[wait], [failure], [], 'starting']);
  });

  test('has no stop reason after a restart', async () => {
    chain.mine([], [], [], []);
    const { indexer, run, next } = indexerFixture([chain.node('a')], {
      stored: [foreign(104), foreign(103), foreign(102)],
      options: { reorgLimit: 1 },
    });
    await run();
    for (let i = 0; i < 7; i++) await next(30_000);
    expect(indexer.state).toBe('stopped');
    await indexer.stop();
    indexer.start();
    expect([indexer.state, indexer.stopReason]).toEqual(['starting', undefined]);
  });
});

describe('indexer without new blocks', () => {
  test.each([
    [60_000, 'a'],
    [60_001, 'b'],
  ])('after %d ms uses node %s', async (ms, name) => {
    const nodes = [recorded(chain.node('a')), recorded(chain.node('b'))];
    const { run, next } = indexerFixture(nodes, { stored: stored(), options: { pollInterval: ms } });
    await run();
    await next(ms);
    for (const { requests } of nodes) requests.length = 0;
    await next(ms);
    expect(nodes.find(({ requests }) => requests.length > 0)?.name).toBe(name);
  });

  test('measures the time from the last block', async () => {
    const nodes = [recorded(chain.node('a')), recorded(chain.node('b'))];
    const { run, next } = indexerFixture(nodes, { stored: stored(), options: { pollInterval: 40_000 } });
    await run();
    chain.mine([]);
    await next(40_000);
    await next(40_000);
    await next(40_000);
    expect(nodes[1]?.requests).toEqual([]);
    await next(40_000);
    expect(nodes[1]?.requests).toEqual(['head', 'block 101']);
  });

  test('measures the time also if the clock is set back', async () => {
    const nodes = [recorded(chain.node('a')), recorded(chain.node('b'))];
    const { run, next, clock } = indexerFixture(nodes, { stored: stored(), options: { pollInterval: 40_000 } });
    await run();
    await next(40_000);
    clock.jump(-60_000);
    for (let i = 0; i < 2; i++) await next(40_000);
    expect(nodes[1]?.requests).toEqual(['head', 'block 100']);
  });

  test('stays with its only node', async () => {
    const node = recorded(chain.node('a'));
    const { run, next, observed } = indexerFixture([node], { stored: stored(), options: { pollInterval: 70_000 } });
    await run();
    await next(70_000);
    await next(70_000);
    expect(node.requests).toHaveLength(6);
    expect(observed).toEqual([]);
  });
});
