import type { CompetitionSolution, Hex, Order } from 'intentbook';
import { type BookState, isOf, isSame, type Request } from './book-state.ts';
import type { Contract, SentSettlement } from './contract.ts';

/** The newest blocks that a node may not have read a second time. */
const MAX_UNREAD = 24;

/** What a book at rest is compared with. */
export interface RestContext {
  readonly contract: Contract;
  /** The books of each order, by UID. */
  readonly owners: ReadonlyMap<Hex, ReadonlySet<string>>;
  /** The orders of solvers. */
  readonly justInTime: ReadonlySet<Hex>;
  /** A solver whose settlements cannot be assigned to auctions. */
  readonly indirectSolver: Hex | undefined;
  readonly report: (invariant: string, details: string) => void;
}

/** Compares a book at rest with the chain. */
export async function checkAtRest(state: BookState, context: RestContext): Promise<void> {
  const { contract, owners, justInTime, indirectSolver, report } = context;
  const name = `${state.name} ${state.generation}`;
  const { indexedBlock } = await state.book.chain.progress();
  if (indexedBlock?.hash !== contract.head.hash)
    return report('liveness', `${name} is at block ${indexedBlock?.number}, the head is ${contract.head.number}`);
  for (let block = contract.head.number - 2 * MAX_UNREAD; block < contract.head.number - MAX_UNREAD; block++)
    if (block > 101 && !state.readBlocks.every((blocks) => blocks.has(block)))
      report('second reads', `${name}: not every node has returned the logs of block ${block} for a range`);
  const settled = contract.listSettled();
  for (const [uid, owner] of owners) {
    const order = await state.book.orders.get(uid);
    if (owner.has(name)) checkTotals(uid, order, settled);
    else await checkForeign(uid, order);
  }
  for (const uid of justInTime) {
    const order = await state.book.orders.get(uid);
    if (order === undefined) continue;
    const isOwn = settled.some(({ settlement }) => {
      return isOf(state, settlement.book) && settlement.fills.some((fill) => fill.order.uid === uid);
    });
    if (!isOwn) report('foreign orders', `${name} has the just-in-time order ${uid} of another book`);
    checkTotals(uid, order, settled);
  }
  for (const { auctionId, solutions, deadlineBlock } of state.rounds) {
    if (solutions.length === 0) continue;
    const competition = await state.book.auctions.competition(auctionId);
    const inTime = settled.filter(({ number }) => number <= deadlineBlock + 100).map(({ settlement }) => settlement);
    const requests = state.requests.filter((each) => each.auctionId === auctionId);
    const required = inTime.filter(({ hash, ...settlement }) => {
      if (settlement.solver === indirectSolver) return false;
      const isOfRequest = ({ offer, solver, transactions }: Request) => {
        const isLater = Number.parseInt(hash.slice(4), 16) > transactions;
        return isLater && settlement.solver === solver.solver && isSame(settlement, auctionId, offer);
      };
      return isOf(state, settlement.book) && requests.some(isOfRequest);
    });
    // A settlement of orders that both books share, under the same number and by the same solver, cannot be
    // distinguished. Neither can one that a lost store has requested.
    const allowed = inTime.filter((each) =>
      competition?.solutions.some((solution) => isWinner(solution, auctionId, each)),
    );
    const got = competition?.transactionHashes ?? [];
    const isExpected =
      required.every(({ hash }) => got.includes(hash)) &&
      got.every((hash) => [...required, ...allowed].some((each) => each.hash === hash));
    if (!isExpected) {
      const expected = required.map(({ hash }) => hash);
      report('competitions', `${name}: auction ${auctionId} has the settlements ${got}, expected ${expected}`);
    }
  }

  function isWinner(
    { isWinner: hasWon, solverAddress, orders }: CompetitionSolution,
    auctionId: number,
    settlement: SentSettlement,
  ): boolean {
    const { fills } = settlement;
    const isEqual = fills.length === orders.length && auctionId === settlement.auctionId;
    if (!hasWon || solverAddress !== settlement.solver || !isEqual) return false;
    return fills.every(({ order, sold }) =>
      orders.some(({ id, sellAmount }) => id === order.uid && sellAmount === String(sold)),
    );
  }

  function checkTotals(uid: Hex, order: Order | undefined, all: typeof settled): void {
    const fills = all.flatMap(({ settlement }) => settlement.fills).filter((fill) => fill.order.uid === uid);
    const sold = fills.reduce((sum, fill) => sum + fill.sold, 0n);
    if (order?.executedSellAmount !== String(sold))
      report('totals', `${name}: order ${uid} has sold ${order?.executedSellAmount}, expected ${sold}`);
  }

  async function checkForeign(uid: Hex, order: Order | undefined): Promise<void> {
    const others = [...(owners.get(uid) ?? [])].join(', ');
    if (order !== undefined) report('foreign orders', `${name} has the order ${uid} of ${others}`);
    const owner: Hex = `0x${uid.slice(66, 106)}`;
    const { notifications } = await state.accounts.notifications.list(owner);
    if (notifications.length > 0 && owners.get(uid)?.has(`${name} lost`) !== true)
      report('foreign notifications', `${name} has notified the owner of order ${uid} of ${others}`);
    const surplus = await state.book.trades.totalSurplus(owner);
    if (surplus !== 0n) report('foreign surplus', `${name}: the owner of order ${uid} has the surplus ${surplus}`);
  }
}
