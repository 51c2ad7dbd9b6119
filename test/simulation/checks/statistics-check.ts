import type { AccountStore, Address } from 'intentbook';
import type { Accounts, AccountsOptions, AffiliateTerms } from 'intentbook/accounts';
import { AccountError } from 'intentbook/accounts';
import type { ChainFact, FactPosition } from '../chain/chain.ts';
import { START } from '../machine/process.ts';
import type { Pool } from '../orders/pool.ts';
import type { PoolOrder } from '../orders/pool-order.ts';
import { CODES, SELL_TOKEN } from '../orders/pool-order.ts';
import type { Model } from './model.ts';
import type { Report } from './store-observer.ts';

/** Compares the own statistics of a process with a recomputation from the chain. */
export interface StatisticsCheck {
  /** Registers the codes. */
  register(): Promise<void>;
  /** Compares all traders, when the log has been read. */
  compare(name: string, accounts: Accounts, notify: Report): Promise<void>;
  /** Compares the affiliates. Their wallets are read from the store. */
  compareAffiliates(name: string, accounts: Accounts, notify: Report): Promise<void>;
}

/** US dollars for one atom of the sell token. */
const PRICE = 3;

/** The caps are low, so that trades exceed them. */
const TERMS: AffiliateTerms = {
  rewardAmount: 10,
  triggerVolume: 20,
  timeCapDays: 0.0005,
  volumeCap: 70,
  revenueSplitAffiliatePct: 60,
  revenueSplitTraderPct: 40,
  revenueSplitDaoPct: 0,
};

/** Seconds after the first trade of a trader in which trades count. */
const TIME_CAP = 43.2;

/** The options with which books compute statistics. The price of a token is always known, and never changes. */
export const STATISTICS_OPTIONS = {
  affiliates: { terms: TERMS, statistics: 'own' },
  // An empty label: the decimals of the other token are not known, so that the sold amount alone has a value.
  tokens: (_chain, token) => (token === SELL_TOKEN ? { decimals: 0, symbol: 'SELL' } : {}),
  usdPrices: { sources: [{ name: 'constant', usdPrice: () => PRICE }] },
} satisfies Partial<AccountsOptions>;

/** The expected state of a trader. */
interface Expected {
  readonly code: string | undefined;
  readonly volume: number;
  /** Descriptions of the trades with a code, newest first. */
  readonly rows: readonly string[];
}

export function createStatisticsCheck({
  pool,
  model,
  affiliates,
}: {
  readonly pool: Pool;
  readonly model: Model;
  readonly affiliates: AccountStore['affiliates'];
}): StatisticsCheck {
  const wallets = new Map<string, Address>([
    [CODES.other, `0x${'af'.repeat(20)}`],
    [CODES.own, pool.owners[1] ?? '0x'],
  ]);

  const order = (n: number) => pool.orders[n] as PoolOrder; // indexes are those of the pool

  function listTrades(trader: Address): FactPosition[] {
    return model.positions.filter(({ fact }) => {
      const { placedBy, owner } = order(fact.order);
      return fact.type === 'trade' && model.placed.has(fact.order) && (placedBy ?? owner) === trader;
    });
  }

  /** Returns the code of the first trade, if it is registered by another wallet. */
  function findBinding(trader: Address, [first]: readonly FactPosition[]): string | undefined {
    const code = first && order(first.fact.order).code;
    const wallet = code === undefined ? undefined : wallets.get(code);
    return wallet === undefined || wallet === trader ? undefined : code;
  }

  function compute(trader: Address): Expected {
    const trades = listTrades(trader);
    const binding = findBinding(trader, trades);
    const end = (trades[0]?.timestamp ?? 0) + TIME_CAP;
    let volume = 0;
    const rows: string[] = [];
    for (const { fact, timestamp } of trades) {
      const { code } = order(fact.order);
      if (code === undefined) continue;
      const left = TERMS.volumeCap - volume;
      const reason = (() => {
        if (!wallets.has(code)) return 'unknown_code';
        if (wallets.get(code) === trader) return 'own_code';
        if (binding === undefined) return 'ref_after_first_trade';
        if (binding !== code) return 'other_code';
        if (timestamp >= end) return 'time_cap_exceeded';
        return left > 0 ? 'eligible' : 'volume_cap_exceeded';
      })();
      const counted = reason === 'eligible' ? Math.min(left, Number(fact.sold) * PRICE) : 0;
      volume += counted;
      rows.unshift(describe(fact, reason, counted));
    }
    return { code: binding, volume, rows };
  }

  const describe = ({ order: n, transactionHash, sold }: ChainFact, reason: string, counted: number) =>
    `${order(n).uid} ${transactionHash} ${sold} ${reason} ${counted}`;

  const getRewards = (volume: number, percent: number) =>
    (Math.floor(volume / TERMS.triggerVolume) * TERMS.rewardAmount * percent) / 100;

  /** Reports values that differ. */
  function expectEqual(
    subject: string,
    actual: readonly unknown[],
    expected: readonly unknown[],
    notify: Report,
  ): void {
    if (actual.join() !== expected.join()) notify('statistics', `${subject}: got ${actual}, expected ${expected}`);
  }

  return {
    async register() {
      for (const [code, walletAddress] of wallets) {
        const [digest, signedMessage] = [
          `0x${walletAddress.slice(2)}` as const,
          `0x${walletAddress.slice(3)}` as const,
        ];
        await affiliates.register({ walletAddress, code, createdAt: START * 1000, digest, signedMessage });
      }
    },
    compare: whenComputed(async (name, accounts, notify) => {
      for (const trader of pool.owners) {
        const { code, volume, rows } = compute(trader);
        const actual = await accounts.affiliates.statistics('trader', trader);
        expectEqual(
          `${name}, trader ${trader}`,
          [actual?.['bound_referrer_code'], actual?.['eligible_volume'], actual?.['total_earned']],
          code === undefined ? [undefined, undefined, undefined] : [code, volume, getRewards(volume, 40)],
          notify,
        );
        const activity = await accounts.affiliates.statistics('traderActivity', trader, { all: true });
        const { rows: found } = activity as { readonly rows: readonly Readonly<Record<string, unknown>>[] }; // shape
        const listed = found.map((row) =>
          ['order_uid', 'tx_hash', 'executed_sell_amount', 'eligibility_reason', 'eligible_volume_usd']
            .map((member) => row[member])
            .join(' '),
        );
        expectEqual(`${name}, activity of ${trader}`, listed, rows, notify);
      }
    }),
    compareAffiliates: whenComputed(async (name, accounts, notify) => {
      for (const [code, wallet] of wallets) {
        const bound = pool.owners.map(compute).filter((each) => each.code === code);
        const volume = bound.reduce((sum, each) => sum + each.volume, 0);
        const actual = await accounts.affiliates.statistics('affiliate', wallet);
        expectEqual(
          `${name}, affiliate ${code}`,
          [actual?.['total_volume'], actual?.['total_traders'], actual?.['total_earned']],
          [volume, bound.length, getRewards(volume, 60)],
          notify,
        );
      }
    }),
  };
}

/** Reports statistics that a process has not computed yet. */
function whenComputed(compare: StatisticsCheck['compare']): StatisticsCheck['compare'] {
  return async (name, accounts, notify) => {
    try {
      await compare(name, accounts, notify);
    } catch (failure) {
      if (!(failure instanceof AccountError) || failure.status !== 503) throw failure;
      notify('liveness', `${name}: ${failure.message}`);
    }
  };
}
