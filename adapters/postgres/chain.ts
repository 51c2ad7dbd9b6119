import type {
  ApplyOutcome,
  BlockRef,
  ChainProgress,
  Fact,
  FactBatch,
  Hex,
  RollbackOutcome,
  RollbackRequest,
} from 'intentbook';
import { blockHashes, hasMoved, isOrderFact, judgeFacts, ordersTouched } from 'intentbook/adapter';
import type { Facts } from './chain-events.ts';
import { placeOf } from './chain-events.ts';
import { judgedRowsOf } from './order-projection.ts';
import type { Owners } from './owner-counts.ts';
import type { Run } from './query.ts';
import { toBytes } from './rows.ts';
import type { Session } from './session.ts';

export interface Chain {
  progress(): Promise<ChainProgress>;
  apply(batch: FactBatch): Promise<ApplyOutcome>;
  rollback(request: RollbackRequest): Promise<RollbackOutcome>;
  /** Within the transaction that has inserted orders: folds what the chain has said before into their rows. */
  fold(run: Run, uids: readonly Hex[], at: number): Promise<void>;
}

type BlockRow = readonly [number: number | null, hash: Hex | null];

export function chainOf(session: Session, facts: Facts, owners: Owners): Chain {
  const { schema: s, prepare, read, write } = session;
  const rows = judgedRowsOf(session);
  const newest = prepare<BlockRow>(`SELECT number, hash FROM ${s}.progress`);
  // One transaction at a time says what the chain says.
  const lock = prepare<BlockRow>(`SELECT number, hash FROM ${s}.progress FOR UPDATE`);
  const setMark = prepare(`UPDATE ${s}.progress SET number = $1, hash = $2`);
  const remembered = prepare<BlockRow>(`SELECT number, hash FROM ${s}.blocks ORDER BY number DESC`);
  const remember = prepare(
    `INSERT INTO ${s}.blocks (number, hash) SELECT * FROM unnest($1::bigint[], $2::bytea[]) ON CONFLICT DO NOTHING`,
  );
  const forget = prepare(`DELETE FROM ${s}.blocks WHERE number < $1 OR number > $2`);
  const top = prepare<BlockRow>(`SELECT number, hash FROM ${s}.blocks ORDER BY number DESC LIMIT 1`);

  /** Whoever changes the facts of an order holds its owner, as does whoever inserts it: neither misses the other. */
  async function hold(run: Run, touched: readonly Fact[]): Promise<readonly Hex[]> {
    const uids = ordersTouched(touched);
    await owners.lock(run, uids.map(ownerOf));
    return uids;
  }

  return {
    progress: () =>
      read('read how far the chain has been read', async (run) => ({
        mark: refOf((await run(newest))[0]),
        blocks: (await run(remembered)).flatMap((row) => refOf(row) ?? []),
      })),

    apply: (batch) =>
      write('apply facts of the chain', async (run): Promise<ApplyOutcome> => {
        const mark = refOf((await run(lock))[0]);
        if (hasMoved(mark, batch.after)) return { status: 'moved', mark };
        const named = blockHashes(batch);
        if (mark !== null) {
          // Nothing is known above the mark.
          const known = await facts.hashes(
            run,
            [...named.keys()].filter((number) => number <= mark.number),
          );
          for (const [block, stored] of known) {
            if (named.get(block) !== stored) return { status: 'conflict', block, stored, mark };
          }
        }

        const uids = await hold(run, batch.facts);
        const fresh = await facts.add(run, batch.facts);
        const [orders, all] = [await rows.find(run, uids), await facts.ofOrders(run, uids)];
        const affected = uids.map((uid) => {
          const after = all.get(uid) ?? [];
          return { uid, order: orders.get(uid), before: after.filter((fact) => !fresh.has(placeOf(fact))), after };
        });
        await rows.write(run, judgeFacts(affected, batch.at), orders);

        const { through, forgetBelow } = batch;
        const kept = [...named].filter(([number]) => number >= forgetBelow);
        await run(
          remember,
          kept.map(([number]) => number),
          kept.map(([, hash]) => toBytes(hash)),
        );
        const moved = mark === null || mark.number < through.number ? through : mark;
        await run(forget, forgetBelow, moved.number);
        if (moved !== mark) await run(setMark, moved.number, toBytes(moved.hash));
        return { status: 'applied', applied: fresh.size, known: batch.facts.length - fresh.size, mark: moved };
      }),

    rollback: ({ to, after, at }) =>
      write('take back facts of the chain', async (run): Promise<RollbackOutcome> => {
        const mark = refOf((await run(lock))[0]);
        if (hasMoved(mark, after)) return { status: 'moved', mark };
        const gone = await facts.removeAbove(run, to);
        const uids = await hold(run, gone);
        const [orders, all] = [await rows.find(run, uids), await facts.ofOrders(run, uids)];
        const taken = gone.filter(isOrderFact).sort((a, b) => a.blockNumber - b.blockNumber || a.logIndex - b.logIndex);
        const affected = uids.map((uid) => {
          const rest = all.get(uid) ?? [];
          return {
            uid,
            order: orders.get(uid),
            before: [...rest, ...taken.filter((fact) => fact.uid === uid)],
            after: rest,
          };
        });
        await rows.write(run, judgeFacts(affected, at), orders);
        await run(forget, 0, to);
        if (mark === null || mark.number <= to) return { status: 'rolledBack', removed: gone.length, mark };
        const back = refOf((await run(top))[0]);
        await run(setMark, back?.number ?? null, back === null ? null : toBytes(back.hash));
        return { status: 'rolledBack', removed: gone.length, mark: back };
      }),

    async fold(run, uids, at) {
      const [orders, all] = [await rows.find(run, uids), await facts.ofOrders(run, uids)];
      const affected = uids.map((uid) => ({ uid, order: orders.get(uid), before: [], after: all.get(uid) ?? [] }));
      await rows.write(run, judgeFacts(affected, at), orders);
    },
  };
}

function refOf(row: BlockRow | undefined): BlockRef | null {
  const [number, hash] = row ?? [null, null];
  return number === null || hash === null ? null : { number, hash };
}

const ownerOf = (uid: Hex): Hex => `0x${uid.slice(66, 106)}`;
