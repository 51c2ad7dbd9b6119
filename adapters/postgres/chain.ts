import type {
  ApplyOutcome,
  BlockRef,
  ChainEvent,
  ChainEventBatch,
  ChainProgress,
  Hex,
  RollbackOutcome,
  RollbackRequest,
} from 'intentbook';
import {
  blockHashes,
  getAffectedUids,
  isCursorStale,
  isOrderChainEvent,
  projectOrderState,
} from 'intentbook/store-kit';
import type { PgChainEventTable } from './chain-events.ts';
import { readLogPosition } from './chain-events.ts';
import { createOrderProjectionTable } from './order-projection.ts';
import type { PgOwnerCounts } from './owner-counts.ts';
import type { Query } from './query.ts';
import { toBytes } from './rows.ts';
import type { PostgresSession } from './session.ts';

export interface PgChainOperations {
  progress(): Promise<ChainProgress>;
  apply(batch: ChainEventBatch): Promise<ApplyOutcome>;
  rollback(request: RollbackRequest): Promise<RollbackOutcome>;
  /** Within the transaction that has inserted orders: folds what the chain has said before into their rows. */
  fold(run: Query, uids: readonly Hex[], at: number): Promise<void>;
}

type BlockRow = readonly [number: number | null, hash: Hex | null];

export function createChainStore(
  session: PostgresSession,
  facts: PgChainEventTable,
  owners: PgOwnerCounts,
): PgChainOperations {
  const { schema: s, prepare, read, write } = session;
  const rows = createOrderProjectionTable(session);
  const newest = prepare<BlockRow>(`SELECT number, hash FROM ${s}.progress`);
  // One transaction at a time says what the chain says.
  const lock = prepare<BlockRow>(`SELECT number, hash FROM ${s}.progress FOR UPDATE`);
  const setIndexedBlock = prepare(`UPDATE ${s}.progress SET number = $1, hash = $2`);
  const remembered = prepare<BlockRow>(`SELECT number, hash FROM ${s}.blocks ORDER BY number DESC`);
  const remember = prepare(
    `INSERT INTO ${s}.blocks (number, hash) SELECT * FROM unnest($1::bigint[], $2::bytea[]) ON CONFLICT DO NOTHING`,
  );
  const forget = prepare(`DELETE FROM ${s}.blocks WHERE number < $1 OR number > $2`);
  const top = prepare<BlockRow>(`SELECT number, hash FROM ${s}.blocks ORDER BY number DESC LIMIT 1`);

  /** Whoever changes the facts of an order holds its owner, as does whoever inserts it: neither misses the other. */
  async function hold(run: Query, touched: readonly ChainEvent[]): Promise<readonly Hex[]> {
    const uids = getAffectedUids(touched);
    await owners.lock(run, uids.map(ownerOf));
    return uids;
  }

  return {
    progress: () =>
      read('read how far the chain has been read', async (run) => ({
        indexedBlock: refOf((await run(newest))[0]),
        blocks: (await run(remembered)).flatMap((row) => refOf(row) ?? []),
      })),

    apply: (batch) =>
      write('apply facts of the chain', async (run): Promise<ApplyOutcome> => {
        const indexedBlock = refOf((await run(lock))[0]);
        if (isCursorStale(indexedBlock, batch.after)) return { status: 'moved', indexedBlock };
        const named = blockHashes(batch);
        if (indexedBlock !== null) {
          // Nothing is known above the indexedBlock.
          const known = await facts.hashes(
            run,
            [...named.keys()].filter((number) => number <= indexedBlock.number),
          );
          for (const [block, stored] of known) {
            if (named.get(block) !== stored) return { status: 'conflict', block, stored, indexedBlock };
          }
        }

        const uids = await hold(run, batch.events);
        const fresh = await facts.add(run, batch.events);
        const [orders, all] = [await rows.find(run, uids), await facts.ofOrders(run, uids)];
        const affected = uids.map((uid) => {
          const after = all.get(uid) ?? [];
          return {
            uid,
            order: orders.get(uid),
            before: after.filter((fact) => !fresh.has(readLogPosition(fact))),
            after,
          };
        });
        await rows.write(run, projectOrderState(affected, batch.at), orders);

        const { through, forgetBelow } = batch;
        const kept = [...named].filter(([number]) => number >= forgetBelow);
        await run(
          remember,
          kept.map(([number]) => number),
          kept.map(([, hash]) => toBytes(hash)),
        );
        const moved = indexedBlock === null || indexedBlock.number < through.number ? through : indexedBlock;
        await run(forget, forgetBelow, moved.number);
        if (moved !== indexedBlock) await run(setIndexedBlock, moved.number, toBytes(moved.hash));
        return { status: 'applied', applied: fresh.size, known: batch.events.length - fresh.size, indexedBlock: moved };
      }),

    rollback: ({ to, after, at }) =>
      write('take back facts of the chain', async (run): Promise<RollbackOutcome> => {
        const indexedBlock = refOf((await run(lock))[0]);
        if (isCursorStale(indexedBlock, after)) return { status: 'moved', indexedBlock };
        const gone = await facts.removeAbove(run, to);
        const uids = await hold(run, gone);
        const [orders, all] = [await rows.find(run, uids), await facts.ofOrders(run, uids)];
        const taken = gone
          .filter(isOrderChainEvent)
          .sort((a, b) => a.blockNumber - b.blockNumber || a.logIndex - b.logIndex);
        const affected = uids.map((uid) => {
          const rest = all.get(uid) ?? [];
          return {
            uid,
            order: orders.get(uid),
            before: [...rest, ...taken.filter((fact) => fact.uid === uid)],
            after: rest,
          };
        });
        await rows.write(run, projectOrderState(affected, at), orders);
        await run(forget, 0, to);
        if (indexedBlock === null || indexedBlock.number <= to)
          return { status: 'rolledBack', removed: gone.length, indexedBlock };
        const back = refOf((await run(top))[0]);
        await run(setIndexedBlock, back?.number ?? null, back === null ? null : toBytes(back.hash));
        return { status: 'rolledBack', removed: gone.length, indexedBlock: back };
      }),

    async fold(run, uids, at) {
      const [orders, all] = [await rows.find(run, uids), await facts.ofOrders(run, uids)];
      const affected = uids.map((uid) => ({ uid, order: orders.get(uid), before: [], after: all.get(uid) ?? [] }));
      await rows.write(run, projectOrderState(affected, at), orders);
    },
  };
}

function refOf(row: BlockRow | undefined): BlockRef | null {
  const [number, hash] = row ?? [null, null];
  return number === null || hash === null ? null : { number, hash };
}

const ownerOf = (uid: Hex): Hex => `0x${uid.slice(66, 106)}`;
