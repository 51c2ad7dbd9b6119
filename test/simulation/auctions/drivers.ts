import type { Address, AuctionOrder, Hex, RevealRequest, SettleRequest, SolveRequest, SolverDriver } from 'intentbook';
import { encodeSettlement } from 'intentbook/solver';
import { createSeededRandom, type SeededRandom } from '../machine/random.ts';
import type { Contract, ExecutedFill } from './contract.ts';

/**
 * How a driver behaves: it settles as promised; responds without sending; sends, and hangs up; sends after the
 * deadline; sends twice; executes half; sells more than promised for the same amount; refuses some solutions before it
 * sends them; uses ids again; bids nothing; bids as much as others; does not respond; responds with malformed
 * solutions; adds orders of earlier auctions; reveals nothing, or another calldata.
 */
export const BEHAVIOURS = [
  'honest',
  'honest',
  'lying',
  'hanging up',
  'late',
  'twice',
  'half',
  'skimming',
  'adding',
  'malformed',
  'concealing',
  'refusing',
  'reusing ids',
  'bidding zero',
  'silent',
] as const;
export type Behaviour = (typeof BEHAVIOURS)[number];

/** A solution that a driver has offered to a book. */
export interface Offer {
  readonly solutionId: number;
  readonly fills: readonly ExecutedFill[];
}

/** A solver that serves several books with one account. */
export interface ForeignSolver {
  readonly name: string;
  readonly behaviour: Behaviour;
  readonly solver: Address;
  readonly connect: (book: string, observer: DriverObserver) => SolverDriver;
}

/** Observes the requests of a book. */
export interface DriverObserver {
  onSolve(request: SolveRequest): void;
  onSettle(request: SettleRequest, offer: Offer): void;
  /** Called when the driver reports that no transaction is pending. */
  onFailed(offer: Offer): void;
  onBan(): void;
}

export interface SolverContext {
  readonly random: SeededRandom;
  readonly contract: Contract;
  readonly nextHash: () => Hex;
  /** Whether some solutions have several orders. */
  readonly isMulti: boolean;
  /** Whether its transactions call another contract. It then fills parts of orders also if it is honest. */
  readonly isIndirect: boolean;
  /** Creates an order of a solver that exchanges the amounts of a fill. */
  readonly createJustInTime: (fill: ExecutedFill, solver: Address) => AuctionOrder;
}

/** Creates a solver. */
export function createSolver(
  name: string,
  solver: Address,
  behaviour: Behaviour,
  context: SolverContext,
): ForeignSolver {
  const { random, contract, nextHash, isMulti, isIndirect, createJustInTime } = context;

  function fill(order: AuctionOrder): ExecutedFill {
    const left = BigInt(order.sellAmount) - BigInt(order.executed);
    // An honest solver promises the same to both books: one of its settlements may revert the other one.
    const draw = behaviour === 'honest' ? createSeededRandom(order.uid) : random;
    const isPart = draw.chance(0.5) && (behaviour !== 'honest' || isIndirect);
    const sold = order.partiallyFillable && left > 1n && isPart ? left / 2n : left;
    const limit = (sold * BigInt(order.buyAmount) + BigInt(order.sellAmount) - 1n) / BigInt(order.sellAmount);
    // Equal bids are frequent.
    return { order, sold, bought: behaviour === 'bidding zero' ? limit : limit + BigInt(draw.integer(1, 3) * 100) };
  }

  return { name, behaviour, solver, connect };

  function connect(book: string, observer: DriverObserver): SolverDriver {
    const offers = new Map<string, Offer>();
    /** The orders of earlier auctions. */
    const seen = new Map<Hex, AuctionOrder>();
    let lastId = 0;

    async function solve(request: SolveRequest): Promise<unknown> {
      observer.onSolve(request);
      if (behaviour === 'silent') return new Promise(() => {});
      const { id, orders } = request.auction;
      const earlier = [...seen.values()].filter(({ uid }) => orders.every((order) => order.uid !== uid));
      for (const order of orders) seen.set(order.uid, order);
      const chosen = orders.filter(() => random.chance(0.8)).slice(0, 3);
      const solutions = groupOrders(chosen).map((group): Offer => {
        const fills = group.map(fill);
        const [first] = fills;
        if (isMulti && first !== undefined && random.chance(0.3))
          fills.push({ order: createJustInTime(first, solver), sold: first.bought, bought: first.sold });
        const added = behaviour === 'adding' && earlier.length > 0 ? [fill(random.pick(earlier))] : [];
        return { solutionId: behaviour === 'reusing ids' ? 1 : ++lastId, fills: [...fills, ...added] };
      });
      for (const offer of [...solutions].reverse()) offers.set(`${id} ${offer.solutionId}`, offer);
      if (behaviour === 'malformed' && random.chance(0.7)) return random.pick(malform(solutions));
      return toResponse(solutions);
    }

    /** Groups some orders without a common token. */
    function groupOrders(orders: readonly AuctionOrder[]): AuctionOrder[][] {
      const groups: AuctionOrder[][] = [];
      for (const order of orders) {
        const group = groups.find((each) =>
          each.every(({ sellToken, buyToken }) => sellToken !== order.sellToken && buyToken !== order.buyToken),
        );
        if (isMulti && group !== undefined && random.chance(0.5)) group.push(order);
        else groups.push([order]);
      }
      return groups;
    }

    /** Returns responses that have no valid solution. */
    function malform(solutions: readonly Offer[]): unknown[] {
      const response = toResponse(solutions);
      const change = (changes: object) => ({ solutions: response.solutions.map((each) => ({ ...each, ...changes })) });
      const changeOrders = (changes: object) => ({
        solutions: response.solutions.map((each) => ({
          ...each,
          orders: Object.fromEntries(
            Object.entries(each.orders).map(([uid, order]) => [uid, { ...order, ...changes }]),
          ),
        })),
      });
      return [
        undefined,
        'text',
        { solutions: 'text' },
        { solutions: [null, 1, {}, { solutionId: -1 }] },
        change({ solutionId: 2 ** 60 }),
        change({ submissionAddress: '0x12' }),
        change({ orders: {} }),
        changeOrders({ executedBuy: '0' }),
        changeOrders({ executedSell: '-1' }),
        changeOrders({ executedSell: String(2n ** 256n) }),
        changeOrders({ limitSell: '1', executedSell: '1' }),
        changeOrders({ side: 'buy' }),
      ];
    }

    function toResponse(solutions: readonly Offer[]) {
      return {
        solutions: solutions.map(({ solutionId, fills }) => ({
          solutionId,
          submissionAddress: solver,
          orders: Object.fromEntries(
            fills.map(({ order, sold, bought }) => {
              const { uid, kind: side, sellToken, buyToken, sellAmount: limitSell, buyAmount: limitBuy } = order;
              const executed = { executedSell: String(sold), executedBuy: String(bought) };
              return [uid, { side, sellToken, limitSell, buyToken, limitBuy, ...executed }];
            }),
          ),
        })),
      };
    }

    function encode(auctionId: number, fills: readonly ExecutedFill[]): Hex {
      const prices = Object.fromEntries(
        fills.flatMap(({ order, sold, bought }) => [
          [order.sellToken, bought],
          [order.buyToken, sold],
        ]),
      );
      const solution = {
        prices,
        fills: fills.map(({ order, sold }) => ({ order, executed: sold })),
        interactions: [],
      };
      return encodeSettlement(solution, auctionId);
    }

    function send({ auctionId, solutionId }: SettleRequest, fills: readonly ExecutedFill[], from: number) {
      return new Promise<boolean>((resolve) => {
        const data = encode(auctionId, fills);
        const isPrompt = behaviour === 'honest';
        contract.send({
          hash: nextHash(),
          book,
          auctionId,
          solutionId,
          solver,
          fills,
          data,
          from,
          isPrompt,
          onMined: resolve,
        });
      });
    }

    async function settle(request: SettleRequest): Promise<void> {
      const offer = offers.get(`${request.auctionId} ${request.solutionId}`);
      if (offer === undefined) throw new Error('the solution is unknown');
      observer.onSettle(request, offer);
      const { fills } = offer;
      const next = contract.head.number + 1;
      if (behaviour === 'lying') return;
      if (behaviour === 'refusing' && random.chance(0.5)) {
        observer.onFailed(offer);
        throw Object.assign(new Error('the simulation failed'), { kind: 'FailedToSubmit' });
      }
      if (behaviour === 'hanging up') {
        void send(request, fills, next);
        throw new Error('socket hang up');
      }
      if (behaviour === 'late') return void send(request, fills, request.submissionDeadlineLatestBlock + 2);
      if (behaviour === 'twice') void send(request, fills, next);
      const isHalf = behaviour === 'half' && fills.every(({ order, sold }) => order.partiallyFillable && sold > 1n);
      const halves = fills.map((each) => ({ ...each, sold: each.sold / 2n, bought: (each.bought + 1n) / 2n }));
      const isMore = behaviour === 'skimming' && fills.every(({ order, sold }) => sold < BigInt(order.sellAmount));
      const more = fills.map((each) => ({ ...each, sold: each.sold + 1n }));
      const reverted = await send(request, isHalf ? halves : isMore ? more : fills, next);
      if (!reverted) return;
      observer.onFailed(offer);
      throw Object.assign(new Error('the transaction was reverted'), { kind: 'FailedToSubmit' });
    }

    async function reveal({ auctionId, solutionId }: RevealRequest): Promise<unknown> {
      if (behaviour === 'concealing' && random.chance(0.5)) return new Promise(() => {});
      const fills = offers.get(`${auctionId} ${solutionId}`)?.fills ?? [];
      const isOther = behaviour === 'concealing';
      return { calldata: { internalized: encode(auctionId, isOther ? [] : fills) } };
    }

    return {
      name,
      submissionAddress: solver,
      solve,
      reveal,
      settle,
      async notify() {
        observer.onBan();
      },
    };
  }
}
