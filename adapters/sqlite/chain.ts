import type {
  Address,
  ApplyOutcome,
  BlockRef,
  ChainProgress,
  Fact,
  FactBatch,
  Hex,
  OrderFact,
  RollbackOutcome,
  RollbackRequest,
  SettlementFact,
  TradeFact,
  TradeQuery,
} from 'intentbook';
import type { FactJudgement } from 'intentbook/adapter';
import {
  blockHashes,
  firstTradeBlocks,
  hasMoved,
  judgeFacts,
  ordersTouched,
  versionWhenPlaced,
} from 'intentbook/adapter';
import type { Documents } from './app-data.ts';
import { factsOf } from './chain-events.ts';
import type { Events } from './events.ts';
import type { JudgedRows } from './order-projection.ts';
import { toBytes, toHex } from './rows.ts';
import type { Session } from './session.ts';

export interface Chain {
  progress(): ChainProgress;
  apply(batch: FactBatch): ApplyOutcome;
  rollback(request: RollbackRequest): RollbackOutcome;
  trades(query: TradeQuery): TradeFact[];
  settlements(transactionHash: Hex): SettlementFact[];
  factsOf(uid: Buffer): readonly OrderFact[];
  settlementsOfAuction(auctionId: number): SettlementFact[];
  firstTrade(token: Address): number | undefined;
  /** Within a transaction: folds what the chain has said before into a row that has just been inserted. */
  fold(uid: Buffer, at: number): void;
}

type BlockRow = readonly [number: number, hash: Buffer];

export function chainOf(session: Session, rows: JudgedRows, documents: Documents, events: Events): Chain {
  const { prefix: p, prepare, read } = session;
  const facts = factsOf(session);
  const newest = prepare(`SELECT number, hash FROM ${p}progress`).raw();
  const setMark = prepare(
    `INSERT INTO ${p}progress (id, number, hash) VALUES (1, ?, ?) ` +
      'ON CONFLICT (id) DO UPDATE SET number = excluded.number, hash = excluded.hash',
  );
  const clearMark = prepare(`DELETE FROM ${p}progress`);
  const remembered = prepare(`SELECT number, hash FROM ${p}blocks ORDER BY number DESC`).raw();
  const hashOf = prepare(`SELECT hash FROM ${p}blocks WHERE number = ?`).pluck();
  const remember = prepare(`INSERT INTO ${p}blocks (number, hash) VALUES (?, ?) ON CONFLICT (number) DO NOTHING`);
  const forgetBelow = prepare(`DELETE FROM ${p}blocks WHERE number < ?`);
  const forgetAbove = prepare(`DELETE FROM ${p}blocks WHERE number > ?`);
  const top = prepare(`SELECT number, hash FROM ${p}blocks ORDER BY number DESC LIMIT 1`).raw();

  const traded = prepare(
    `INSERT INTO ${p}first_trades (token, block) VALUES (?, ?) ` +
      'ON CONFLICT (token) DO UPDATE SET block = excluded.block WHERE excluded.block < block',
  );
  const untraded = prepare(`DELETE FROM ${p}first_trades WHERE block > ?`);
  const firstTrade = prepare(`SELECT block FROM ${p}first_trades WHERE token = ?`).pluck();

  const markNow = () => refOf(newest.get() as BlockRow | undefined); // the columns selected
  function knownHash(block: number): Hex | undefined {
    const hash = hashOf.get(block) as Buffer | undefined; // a NOT NULL column
    return hash === undefined ? facts.blockHash(block) : toHex(hash);
  }

  function write({ rows: changes, events: entries }: FactJudgement): void {
    for (const change of changes) {
      if (change.type === 'insert') documents.refer(change.order.appData, undefined);
      rows.change(change, () => versionWhenPlaced(events.last()));
    }
    for (const event of entries) events.record(event);
  }

  /** Runs a change of the facts, then brings the orders it touches in line. */
  function judged(touched: readonly Fact[], at: number, change: () => void): void {
    const before = ordersTouched(touched).map((uid) => ({ uid, before: facts.ofOrder(toBytes(uid)) }));
    change();
    const affected = before.map((each) => {
      const bytes = toBytes(each.uid);
      return { ...each, order: rows.find(bytes), after: facts.ofOrder(bytes) };
    });
    write(judgeFacts(affected, at));
  }

  return {
    progress: () =>
      read('read how far the chain has been read', () => ({
        mark: markNow() ?? null,
        blocks: (remembered.all() as BlockRow[]).flatMap((row) => refOf(row) ?? []), // the columns selected
      })),

    apply: (batch) =>
      session.write('apply facts of the chain', () => {
        const mark = markNow() ?? null;
        if (hasMoved(mark, batch.after)) return { status: 'moved', mark };
        const named = blockHashes(batch);
        for (const [number, hash] of named) {
          // Nothing is known above the mark.
          const stored = mark === null || number > mark.number ? undefined : knownHash(number);
          if (stored !== undefined && stored !== hash) {
            return { status: 'conflict', block: number, stored, mark: mark ?? batch.through };
          }
        }
        const fresh: Fact[] = [];
        judged(batch.facts, batch.at, () => {
          for (const fact of batch.facts) if (facts.add(fact)) fresh.push(fact);
        });
        for (const [token, block] of firstTradeBlocks(fresh)) traded.run(toBytes(token), block);
        for (const [number, hash] of named) if (number >= batch.forgetBelow) remember.run(number, toBytes(hash));
        forgetBelow.run(batch.forgetBelow);
        const { through } = batch;
        const moved = mark === null || mark.number < through.number ? through : mark;
        if (moved !== mark) setMark.run(moved.number, toBytes(moved.hash));
        return { status: 'applied', applied: fresh.length, known: batch.facts.length - fresh.length, mark: moved };
      }),

    rollback: ({ to, after, at }) =>
      session.write('take back facts of the chain', () => {
        const mark = markNow() ?? null;
        if (hasMoved(mark, after)) return { status: 'moved', mark };
        const gone = facts.above(to);
        judged(gone, at, () => facts.removeAbove(to));
        forgetAbove.run(to);
        untraded.run(to);
        if (mark === null || mark.number <= to) return { status: 'rolledBack', removed: gone.length, mark };
        const back = refOf(top.get() as BlockRow | undefined) ?? null; // the columns selected
        if (back === null) clearMark.run();
        else setMark.run(back.number, toBytes(back.hash));
        return { status: 'rolledBack', removed: gone.length, mark: back };
      }),

    trades: (query) => read('read trades', () => facts.trades(query)),
    firstTrade: (token) =>
      // An INTEGER column.
      read('read the first trade of a token', () => firstTrade.get(toBytes(token)) as number | undefined),
    settlements: (hash) => read('read settlements', () => facts.settlements(hash)),
    settlementsOfAuction: (auctionId) => read('read settlements', () => facts.settlementsOfAuction(auctionId)),

    factsOf: facts.ofOrder,

    fold(bytes, at) {
      const after = facts.ofOrder(bytes);
      if (after.length > 0) write(judgeFacts([{ uid: toHex(bytes), order: rows.find(bytes), before: [], after }], at));
    },
  };
}

function refOf(row: BlockRow | undefined): BlockRef | undefined {
  return row && { number: row[0], hash: toHex(row[1]) };
}
