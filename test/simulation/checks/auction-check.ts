import type { Competitions } from '../chain/competitions.ts';
import { MAX_AGE } from '../chain/competitions.ts';
import type { BookProcess } from '../machine/book-process.ts';
import type { Scheduler } from '../machine/scheduler.ts';
import type { Pool } from '../orders/pool.ts';
import type { PoolOrder } from '../orders/pool-order.ts';
import type { Balances } from '../ports/funds-port.ts';
import type { Model, ShownOrder } from './model.ts';
import type { Interval, ReadCheck } from './read-check.ts';
import type { IndexedState, Report, StoreObserver } from './store-observer.ts';

/** The members of an auction that are checked. */
export interface ParsedAuction {
  readonly id: number;
  readonly block: number;
  readonly prices: Readonly<Record<string, string>>;
  readonly orders: readonly { readonly uid: string; readonly created: number; readonly executed: string }[];
}

/** Checks that an auction has exactly the open, funded, solvable orders, and that its id identifies its bytes. */
export interface AuctionCheck {
  /** Begins an interval of a call. The returned function ends it, and checks the auction that the call has returned. */
  begin(at: BookProcess): (text: string, notify?: Report) => void;
  /** Compares the text of an auction with other texts of the same id. */
  onText(text: string): ParsedAuction;
}

export interface AuctionCheckContext {
  readonly pool: Pool;
  readonly model: Model;
  readonly balances: Balances;
  readonly scheduler: Pick<Scheduler, 'time'>;
  readonly observer: Pick<StoreObserver, 'statesBetween'>;
  readonly competitions: Pick<Competitions, 'findFlight'>;
  readonly reads: ReadCheck;
  /** Whether the books quote. Then an order that is placed on chain without a quote cannot trade. */
  readonly hasQuotes: boolean;
  readonly report: Report;
}

/** Seconds that an order must remain valid. */
const MIN_VALIDITY = 60;

/** Maximum age of the knowledge that a token has no price, with the age of an auction and the time to create it. */
const MAX_UNPRICED_AGE = 80_000;

/** The state of the world in a call. */
interface Call extends Interval {
  readonly process: string;
  /** Virtual times. */
  readonly start: number;
  readonly end: number;
  readonly hasStepped: boolean;
  readonly areFundsUnknown: boolean;
  /** Whether tokens can have been without a price, so that their orders are left out. */
  readonly isUnpriced: boolean;
  readonly states: readonly IndexedState[];
}

export function createAuctionCheck(context: AuctionCheckContext): AuctionCheck {
  const { pool, model, balances, scheduler, observer, competitions, reads, report } = context;
  const texts = new Map<number, string>();

  /** Returns the amounts that an owner may have had. `undefined`: the node has not returned any. */
  function listAmounts({ owner }: PoolOrder, { start, areFundsUnknown }: Call): readonly (bigint | undefined)[] {
    if (areFundsUnknown) return [undefined, ...balances.since(owner, 0)];
    return balances.since(owner, start - MAX_AGE);
  }

  /** Returns whether an order could have been in the auction, and whether it could have been left out. */
  function explain(
    order: PoolOrder,
    executed: string | undefined,
    call: Call,
    versions: readonly (ShownOrder | undefined)[],
  ) {
    const { index, validTo, validFrom = 0 } = order;
    const { earliest, latest, hasStepped } = call;
    const amounts = listAmounts(order, call);
    const isOpen = (shown: ShownOrder | undefined): shown is ShownOrder =>
      shown?.state === 'open' && !shown.isJustInTime;
    const open = versions.filter(isOpen);
    const isLong = hasStepped || validTo >= earliest - MAX_AGE / 1000 + MIN_VALIDITY;
    const isShort = hasStepped || validTo < latest + MIN_VALIDITY;
    const hasBegun = hasStepped || validFrom <= latest;
    const isNew = validFrom > earliest - MAX_AGE / 1000;
    const isSolvable = (shown: ShownOrder) => amounts.some((amount) => canSolve(order, shown, amount));
    const isSame = (shown: ShownOrder) => executed === (order.kind === 'sell' ? shown.sold : shown.bought);
    const flight = competitions.findFlight(index, call);
    return {
      mayList: isLong && hasBegun && flight !== 'certain' && open.some((shown) => isSame(shown) && isSolvable(shown)),
      mayOmit:
        isShort ||
        isNew ||
        flight !== 'none' ||
        call.isUnpriced ||
        (context.hasQuotes && order.placedBy !== undefined) ||
        open.length < versions.length ||
        open.some((shown) => shown.isSwept || amounts.some((amount) => !canSolve(order, shown, amount))),
    };
  }

  /**
   * Returns the last state of an order that has expired and was deleted. A process whose clock is behind may not
   * notice this.
   */
  function listDeleted({ index }: PoolOrder, { from }: Call): ShownOrder[] {
    const [last, current] = model.between(index, 0, from).slice(-2);
    return current !== undefined && current.shown === undefined && last?.shown?.isSwept === true ? [last.shown] : [];
  }

  function onText(text: string): ParsedAuction {
    const auction = JSON.parse(text) as ParsedAuction; // rendered by the book
    const known = texts.get(auction.id);
    if (known === undefined) texts.set(auction.id, text);
    else if (known !== text) report('auctions', `two texts of auction ${auction.id}: ${known} and ${text}`);
    return auction;
  }

  function check(text: string, call: Call, notify: Report): void {
    const { block, orders } = onText(text);
    const blocks = call.states.map(({ number }) => number);
    if (!blocks.includes(block)) notify('auctions', `the block is ${block}, expected one of ${blocks}`);
    const listed = new Map(orders.map((each) => [each.uid, each]));
    if (listed.size !== orders.length) notify('auctions', 'an order is listed twice');
    const sorted = [...orders].sort((a, b) => a.created - b.created || (a.uid < b.uid ? -1 : 1));
    if (sorted.some((each, i) => each !== orders[i])) notify('auctions', 'the orders are not sorted');
    for (const order of pool.orders) {
      const found = listed.get(order.uid);
      const versions = model.between(order.index, call.from, call.to).map(({ shown }) => shown);
      // Most orders are not stored.
      if (found === undefined && versions.every((shown) => shown === undefined)) continue;
      const states = versions.map((shown) => shown?.state ?? 'absent');
      if (call.hasStepped) versions.push(...listDeleted(order, call));
      const { mayList, mayOmit } = explain(order, found?.executed, call, versions);
      if (found !== undefined && !mayList)
        notify('auctions', `order ${order.index} is listed with ${found.executed}, it was ${states.join()}`);
      if (found === undefined && !mayOmit)
        notify('auctions', `order ${order.index} is missing, it was ${states.join()}`);
    }
  }

  return {
    onText,
    begin({ process, funds, market }) {
      const end = reads.mark(process);
      const start = scheduler.time;
      return (text, notify = report) => {
        const interval = end();
        const call = {
          ...interval,
          process: process.name,
          start,
          end: scheduler.time,
          hasStepped: process.lastStep >= start - MAX_AGE,
          areFundsUnknown: funds.lastFault >= start - MAX_AGE,
          isUnpriced: (market?.lastFault ?? Number.NEGATIVE_INFINITY) >= start - MAX_UNPRICED_AGE,
          states: observer.statesBetween(interval.from, interval.to),
        };
        check(text, call, notify);
      };
    },
  };
}

/** Returns whether funds cover a part of an order that does not round to nothing. All orders are partially fillable. */
function canSolve(order: PoolOrder, { sold, bought, creationDate }: ShownOrder, amount: bigint | undefined): boolean {
  const { kind, sellAmount, buyAmount, scheme, placedBy, validTo } = order;
  const [whole, executed] = kind === 'sell' ? [sellAmount, BigInt(sold)] : [buyAmount, BigInt(bought)];
  const rest = whole - executed;
  // A placement that leaves too little time is stored, but can never be settled.
  if (placedBy !== undefined && validTo < Math.floor(creationDate / 1000) + MIN_VALIDITY) return false;
  const [sell, buy] = [(sellAmount * rest) / whole, (buyAmount * rest) / whole];
  if (rest <= 0n || sell === 0n || buy === 0n) return false;
  if (scheme === 'eip1271') return true; // a contract may acquire the funds
  if (amount === undefined || amount === 0n) return false;
  return amount >= sell || (buy * amount) / sell > 0n;
}
