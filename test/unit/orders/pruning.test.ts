import type { ChainEventPruneRequest, DocumentPruneRequest, LogPruneRequest, Store } from 'intentbook';
import { describe, expect, test } from 'vitest';
import { createPruning } from '../../../src/orders/retention.ts';
import type { PruneObservation, RetentionOptions } from '../../../src/orders/retention-options.ts';
import { manualClock } from '../../support/clock.ts';

const START = Date.UTC(2026, 0, 1);
const NOW = START / 1000;
const HOUR = 3_600_000;
const BATCH = 10;

/** Creates the deletion of old data over a store that has `rows` old rows of each kind, and records its requests. */
function fixture({ rows = 0, blockTime = undefined as number | undefined, fails = false } = {}) {
  const clock = manualClock(START);
  const left = { events: rows, chainEvents: rows, documents: rows };
  const requests: (LogPruneRequest | ChainEventPruneRequest | DocumentPruneRequest)[] = [];
  const pruned: PruneObservation[] = [];
  const log = { last: 100 };
  let forgotten = 0;
  let paused = 0;
  const take = (kind: keyof typeof left, request: (typeof requests)[number]) => {
    requests.push(request);
    if (paused !== 1) throw new Error('cached reads are used during a deletion');
    if (fails) throw new Error('the store failed');
    const taken = Math.min(left[kind], request.limit);
    left[kind] -= taken;
    return taken;
  };
  const store = {
    orders: { prune: async () => 0 },
    events: { last: async () => log.last },
    retention: {
      pruneEvents: async (request: LogPruneRequest) => take('events', request),
      pruneDocuments: async (request: DocumentPruneRequest) => take('documents', request),
      async pruneChainEvents(request: ChainEventPruneRequest) {
        const position = { blockNumber: (request.after?.blockNumber ?? 0) + 1, logIndex: 0 };
        const removed = take('chainEvents', request);
        return left.chainEvents === 0 ? { removed } : { removed, next: position };
      },
    },
  } as unknown as Store; // the members that are used
  const pruning = createPruning({
    store,
    clock,
    batch: BATCH,
    async repeat(_, step) {
      while ((await step()) === BATCH);
    },
    getBlockTime: async () => blockTime,
    bypassCache: () => {
      paused++;
      return (isChanged) => {
        paused--;
        if (isChanged) forgotten++;
      };
    },
    pruneObserver: { hasListeners: () => true, notify: (observation) => pruned.push(observation) },
  });
  const run = async (retention: RetentionOptions, sweptAt = Math.floor(clock.now() / 1000)) => {
    await pruning.run(retention, sweptAt, () => false);
    return requests.splice(0);
  };
  return { clock, log, pruned, run, forgotten: () => forgotten, paused: () => paused };
}

describe('retention sweep', () => {
  test('deletes log entries that are old and were in the log an hour ago', async () => {
    const { clock, log, run } = fixture();
    expect(await run({ events: 60 })).toEqual([]);
    log.last = 150;
    clock.advance(HOUR - 1);
    expect(await run({ events: 60 })).toEqual([]);
    clock.advance(1);
    expect(await run({ events: 60 })).toEqual([{ before: START + HOUR - 60_000, through: 100, limit: BATCH }]);
    log.last = 200;
    clock.advance(HOUR);
    expect(await run({ events: 60 })).toEqual([{ before: START + 2 * HOUR - 60_000, through: 150, limit: BATCH }]);
  });

  test('deletes in steps and reports what was deleted', async () => {
    const { run, pruned, forgotten } = fixture({ rows: 25 });
    const requests = await run({ documents: 60, chainEvents: 90 });
    const before = NOW - 90;
    expect(requests.slice(0, 3)).toEqual([
      { before, limit: BATCH },
      { before, limit: BATCH, after: { blockNumber: 1, logIndex: 0 } },
      { before, limit: BATCH, after: { blockNumber: 2, logIndex: 0 } },
    ]);
    expect(requests.slice(3)).toEqual(Array(3).fill({ before: NOW - 60, limit: BATCH }));
    expect(pruned).toEqual([
      ...[10, 10, 5].map((removed) => ({ data: 'chainEvents', removed })),
      ...[10, 10, 5].map((removed) => ({ data: 'documents', removed })),
    ]);
    expect(forgotten()).toBe(6);
  });

  test('drops cached reads after a failure, whose step may have deleted data', async () => {
    const { run, forgotten, paused } = fixture({ fails: true });
    await expect(run({ documents: 60 })).rejects.toThrow('the store failed');
    expect([forgotten(), paused()]).toEqual([1, 0]);
  });

  test('keeps cached reads if nothing was deleted', async () => {
    const { run, forgotten, paused } = fixture();
    await run({ documents: 60, chainEvents: 60 });
    expect([forgotten(), paused()]).toEqual([0, 0]);
  });

  test('deletes nothing that ended after the recorded expiries, when the clock has jumped since', async () => {
    const { run, clock } = fixture();
    clock.advance(5 * HOUR);
    expect(await run({ documents: 60, chainEvents: 90 }, NOW)).toEqual([
      { before: NOW - 90, limit: BATCH },
      { before: NOW - 60, limit: BATCH },
    ]);
  });

  test('is not ahead of the chain', async () => {
    const { run } = fixture({ blockTime: NOW - 1000 });
    expect(await run({ documents: 60, chainEvents: 60 })).toEqual(Array(2).fill({ before: NOW - 1060, limit: BATCH }));
  });
});
