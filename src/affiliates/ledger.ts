import type { Address } from '../protocol/hex.ts';
import type { AffiliateTerms } from './affiliate-api.ts';
import { evaluateTrader, type TraderEvaluation } from './program.ts';
import type { ReferredTrade } from './referred-trade.ts';

/** A trade with its key and its position among the trades of the same time. */
export interface LedgerEntry {
  /** Identifies the trade, so that it can be removed: the book, the log position and the transaction. */
  readonly key: string;
  readonly chainId: number;
  readonly blockNumber: number;
  readonly logIndex: number;
  readonly trade: ReferredTrade;
}

/** An evaluated trader with the chains of the trades. */
export interface TraderState extends TraderEvaluation {
  /** Chain ids of `trades`, in the same order. */
  readonly chainIds: readonly number[];
}

/** The trades of all traders in all books. */
export type Ledger = ReturnType<typeof createLedger>;

interface Trader {
  /** Oldest first. */
  readonly entries: LedgerEntry[];
  /** Cached until the entries change. */
  state: TraderState | undefined;
}

export function createLedger(getTerms: (code: string) => AffiliateTerms) {
  const traders = new Map<Address, Trader>();
  const entries = new Map<string, LedgerEntry>();
  /** The traders that have a trade with a code. */
  const candidates = new Map<string, Set<Address>>();

  function getState(trader: Trader): TraderState {
    trader.state ??= {
      ...evaluateTrader(
        trader.entries.map(({ trade }) => trade),
        getTerms,
      ),
      chainIds: trader.entries.flatMap(({ chainId, trade }) => (trade.referral === undefined ? [] : [chainId])),
    };
    return trader.state;
  }

  /** Removes the trade of a block that was rolled back. */
  function remove(key: string): void {
    const entry = entries.get(key);
    if (entry === undefined) return;
    entries.delete(key);
    const trader = traders.get(entry.trade.trader);
    if (trader === undefined) return;
    trader.entries.splice(trader.entries.indexOf(entry), 1);
    trader.state = undefined;
    if (trader.entries.length === 0) traders.delete(entry.trade.trader);
  }

  return {
    /** Adds a trade. A trade with the same key is replaced. */
    add(entry: LedgerEntry): void {
      remove(entry.key);
      entries.set(entry.key, entry);
      const { trader: address, referral } = entry.trade;
      const trader = traders.get(address) ?? { entries: [], state: undefined };
      traders.set(address, trader);
      // Nearly all trades arrive in order.
      let at = trader.entries.length;
      for (let last = trader.entries[at - 1]; last !== undefined && isBefore(entry, last); ) {
        at--;
        last = trader.entries[at - 1];
      }
      trader.entries.splice(at, 0, entry);
      trader.state = undefined;
      if (referral === undefined) return;
      candidates.set(referral.code, (candidates.get(referral.code) ?? new Set<Address>()).add(address));
    },
    remove,
    clear(): void {
      traders.clear();
      entries.clear();
      candidates.clear();
    },
    /** Returns the state of a trader; `undefined` without trades. */
    trader(address: Address): TraderState | undefined {
      const trader = traders.get(address);
      return trader && getState(trader);
    },
    /** Returns the states of the traders that are bound to a code of a wallet. Another wallet may have had the code. */
    boundTo(code: string, wallet: Address): TraderState[] {
      return [...(candidates.get(code) ?? [])].flatMap((address) => {
        const trader = traders.get(address);
        const state = trader && getState(trader);
        return state?.binding?.code === code && state.binding.affiliate === wallet ? [state] : [];
      });
    },
  };
}

/** Sorts by time, then by position. Trades of several chains at one time are sorted by chain. */
function isBefore(a: LedgerEntry, b: LedgerEntry): boolean {
  return (
    (a.trade.at - b.trade.at || a.chainId - b.chainId || a.blockNumber - b.blockNumber || a.logIndex - b.logIndex) < 0
  );
}
