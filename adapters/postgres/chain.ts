import {
  type BlockRef,
  type ChainEvent,
  type ChainStore,
  type Hex,
  type OrderChainEvent,
  UNKNOWN_HASH,
} from 'intentbook';
import {
  blockHashes,
  compareLogPositions,
  findAdoptable,
  findNewEvents,
  getAffectedUids,
  getConfirmedRange,
  isBatchStale,
  isCursorStale,
  isOrderChainEvent,
  projectOrderState,
  toConflict,
} from 'intentbook/store-kit';
import { formatLogPosition, type PgChainEventTable } from './chain-events.ts';
import { createOrderProjectionTable } from './order-projection.ts';
import type { PgOwnerCounts } from './owner-counts.ts';
import type { Query } from './query.ts';
import { getOwner, toByteArray, toBytes } from './rows.ts';
import type { PostgresSession } from './session.ts';

/** The hash is null after a rollback that left no stored hash; both are null before the first batch. */
interface ProgressRow {
  readonly number: number | null;
  readonly hash: Hex | null;
}

export function createChainStore(session: PostgresSession, chainEvents: PgChainEventTable, owners: PgOwnerCounts) {
  const { schema: s, prepare, prepareObjects, read, write } = session;
  const projection = createOrderProjectionTable(session);
  const newest = prepareObjects<ProgressRow>(`SELECT number, hash FROM ${s}.progress WHERE id = 1`);
  // One transaction at a time changes the chain events.
  const lock = prepareObjects<ProgressRow>(`SELECT number, hash FROM ${s}.progress WHERE id = 1 FOR UPDATE`);
  const setIndexedBlock = prepare(`UPDATE ${s}.progress SET number = $1, hash = $2 WHERE id = 1`);
  const selectBlocks = prepareObjects<BlockRef>(`SELECT number, hash FROM ${s}.blocks ORDER BY number DESC`);
  const insertBlocks = prepare(
    `INSERT INTO ${s}.blocks (number, hash) SELECT * FROM unnest($1::bigint[], $2::bytea[]) ON CONFLICT DO NOTHING`,
  );
  const deleteBlocks = prepare(`DELETE FROM ${s}.blocks WHERE number < $1 OR number > $2`);
  const selectNewestBlock = prepareObjects<BlockRef>(
    `SELECT number, hash FROM ${s}.blocks ORDER BY number DESC LIMIT 1`,
  );
  const touchOwners = prepare(`UPDATE ${s}.owners SET live_open = live_open WHERE owner = ANY($1::bytea[])`);

  /**
   * Locks the owners of the affected orders. An insert locks them too, so neither misses the other. Their rows also
   * change, so that a transaction of the host with stricter isolation and an older snapshot cannot lock them.
   */
  async function lockOwners(run: Query, uids: readonly Hex[]): Promise<void> {
    const locked = await owners.lock(run, uids.map(getOwner));
    if (locked.size > 0) await run(touchOwners, toByteArray([...locked].map(toBytes)));
  }

  /** Updates orders after a change of their chain events. @param getBefore - Returns the earlier events of an order. */
  async function project(
    run: Query,
    uids: readonly Hex[],
    at: number,
    getBefore: (uid: Hex, after: readonly OrderChainEvent[]) => readonly OrderChainEvent[],
    pendingValidity?: number,
  ): Promise<void> {
    const [orders, stored] = [await projection.find(run, uids), await chainEvents.listByOrders(run, uids)];
    const affected = uids.map((uid) => {
      const after = stored.get(uid) ?? [];
      return { uid, order: orders.get(uid), before: getBefore(uid, after), after };
    });
    await projection.write(run, projectOrderState(affected, at, pendingValidity), orders);
  }

  /** Stores events whose positions are free, in place of removed ones, and updates the orders that they affect. */
  async function replace(
    run: Query,
    removed: readonly ChainEvent[],
    events: readonly ChainEvent[],
    at: number,
    pendingValidity?: number,
  ): Promise<void> {
    const uids = getAffectedUids([...removed, ...events]);
    await lockOwners(run, uids);
    await chainEvents.add(run, events);
    const added = new Set(events.map(formatLogPosition));
    const removedByUid = new Map(uids.map((uid): [Hex, OrderChainEvent[]] => [uid, []]));
    for (const event of removed.filter(isOrderChainEvent)) removedByUid.get(event.uid)?.push(event);
    const getBefore = (uid: Hex, after: readonly OrderChainEvent[]) => {
      const kept = after.filter((event) => !added.has(formatLogPosition(event)));
      return [...kept, ...(removedByUid.get(uid) ?? [])].sort(compareLogPositions);
    };
    await project(run, uids, at, getBefore, pendingValidity);
  }

  const operations: Pick<ChainStore, 'progress' | 'blocks' | 'apply' | 'adopt' | 'rollback'> = {
    progress: () =>
      read('read the progress of the indexer', async (run) => {
        const [row] = await run(newest);
        const [indexedBlock, rolledBackTo] = [toBlockRef(row), getRolledBackTo(row)];
        return rolledBackTo === undefined ? { indexedBlock } : { indexedBlock, rolledBackTo };
      }),

    blocks: () => read('read the hashes of blocks', (run) => run(selectBlocks)),

    apply: (batch) =>
      write('apply chain events', async (run) => {
        const [row] = await run(lock);
        const indexedBlock = toBlockRef(row);
        if (isBatchStale(batch, indexedBlock, getRolledBackTo(row))) return { status: 'moved', indexedBlock };
        const hashes = blockHashes(batch);
        const storedHashes = await chainEvents.hashes(run, [...hashes.keys()], indexedBlock?.number ?? -1);
        for (const [block, stored] of storedHashes) {
          if (hashes.get(block) !== stored) {
            return { status: 'conflict', block, stored, indexedBlock: indexedBlock ?? batch.through };
          }
        }

        const range = getConfirmedRange(batch, indexedBlock);
        const blocks = [...new Set(batch.events.map(({ blockNumber }) => blockNumber))];
        const known = blocks.length === 0 ? [] : await chainEvents.listOfBlocks(run, blocks);
        const isAdopted = ({ blockNumber, blockHash }: ChainEvent) =>
          blockHash === UNKNOWN_HASH && blockNumber > range.after && blockNumber <= range.through;
        const found = findNewEvents(
          batch.events,
          known.filter((event) => !isAdopted(event)),
        );
        if (found.status === 'contradiction') return toConflict(found.event, indexedBlock ?? batch.through);
        const adopted = await chainEvents.removeAdopted(run, range);
        await chainEvents.remove(run, found.removed);
        await replace(run, [...adopted, ...found.removed], found.events, batch.at);
        const applied = found.events.length - found.removed.length;

        const { through, forgetBelow } = batch;
        const remembered = [...hashes].filter(([number]) => number >= forgetBelow);
        await run(
          insertBlocks,
          remembered.map(([number]) => number),
          remembered.map(([, hash]) => toBytes(hash)),
        );
        const next = indexedBlock === null || indexedBlock.number < through.number ? through : indexedBlock;
        await run(deleteBlocks, forgetBelow, next.number);
        if (next !== indexedBlock) await run(setIndexedBlock, next.number, toBytes(next.hash));
        return { status: 'applied', applied, known: batch.events.length - applied, indexedBlock: next };
      }),

    adopt: (events, at, complete = []) =>
      write('adopt chain events', async (run) => {
        await run(lock);
        const uids = [...new Set([...getAffectedUids(events), ...complete])];
        // Before the events of these orders are read, so that no insert or other write changes them.
        await lockOwners(run, uids);
        const blocks = [...new Set(events.map(({ blockNumber }) => blockNumber))].filter((number) => number > 0);
        const stored = await chainEvents.listByOrders(run, uids);
        const { added, removed } = findAdoptable(events, {
          complete,
          ofBlocks: blocks.length === 0 ? [] : await chainEvents.listOfBlocks(run, blocks),
          ofOrder: (uid) => stored.get(uid) ?? [],
          lastUnknown: await chainEvents.lastLog(run, 0),
        });
        await chainEvents.remove(run, removed);
        await replace(run, removed, added, at);
        return Math.max(added.length, removed.length);
      }),

    rollback: ({ to, after, at, pendingValidity }) =>
      write('roll back chain events', async (run) => {
        const [row] = await run(lock);
        const indexedBlock = toBlockRef(row);
        if (isCursorStale(indexedBlock, after)) return { status: 'moved', indexedBlock };
        const removed = await chainEvents.removeAbove(run, to);
        await replace(run, removed, [], at, pendingValidity);
        await run(deleteBlocks, 0, to);
        const number = row?.number ?? null;
        if (number === null || number <= to) return { status: 'rolledBack', removed: removed.length, indexedBlock };
        const [newestLeft = null] = await run(selectNewestBlock);
        await run(setIndexedBlock, newestLeft?.number ?? to, newestLeft === null ? null : toBytes(newestLeft.hash));
        return { status: 'rolledBack', removed: removed.length, indexedBlock: newestLeft };
      }),
  };
  return {
    ...operations,
    /** Applies chain events stored earlier to orders that were just inserted. Must run within that transaction. */
    projectNewOrders: (run: Query, uids: readonly Hex[], at: number) => project(run, uids, at, () => []),
  };
}

const NO_PROGRESS: ProgressRow = { number: null, hash: null };

const getRolledBackTo = ({ number, hash } = NO_PROGRESS) => (hash === null ? (number ?? undefined) : undefined);

const toBlockRef = ({ number, hash } = NO_PROGRESS) => (number === null || hash === null ? null : { number, hash });
