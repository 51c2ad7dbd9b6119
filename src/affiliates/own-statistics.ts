import { AccountError } from '../account-tools/account-error.ts';
import type { AccountTools } from '../account-tools/account-tools.ts';
import { findTokens, type OrderTokens } from '../account-tools/token-labels.ts';
import type { AccountStore } from '../ports/account-store.ts';
import type {
  AffiliateStatistics,
  PayoutSource,
  StatisticsCall,
  StatisticsResponse,
} from '../ports/affiliate-statistics.ts';
import { yieldToEventLoop } from '../ports/clock.ts';
import { formatDecimal } from '../protocol/decimal.ts';
import type { Address } from '../protocol/hex.ts';
import { formatIsoDate } from '../records/order-json.ts';
import type { AffiliateTerms } from './affiliate-api.ts';
import { toDollars, toMicros } from './dollars.ts';
import { createStatisticsFollower } from './follower.ts';
import { createLedger } from './ledger.ts';
import { computeRewards, type EvaluatedTrade } from './program.ts';
import type { Valuation } from './valuation.ts';

/** Trades in a response with the activity of a trader. */
const MAX_ROWS = 50;

/** Rows that are created in one tick of the event loop. */
const ROWS_PER_TICK = 128;

/** Statistics that are computed from the trades of the books. */
export interface OwnStatistics extends Required<AffiliateStatistics> {
  start(): void;
  stop(): Promise<void>;
}

/** Creates the statistics. They are complete when the logs of the books were read once. */
export function createOwnStatistics(
  context: Pick<AccountTools, 'books' | 'tokens' | 'clock' | 'onFailure'> & {
    readonly store: Pick<AccountStore, 'notifications' | 'affiliates'>;
    readonly getTerms: (code: string) => AffiliateTerms;
    readonly payouts: PayoutSource | undefined;
    readonly value: Valuation;
  },
): OwnStatistics {
  const { books, store, getTerms, payouts, tokens, clock, onFailure } = context;
  const ledger = createLedger(getTerms);
  const followers = books.map((book) =>
    createStatisticsFollower({ ...context, book, ledger, store: store.notifications, affiliates: store.affiliates }),
  );

  /** @throws AccountError of status 503 before the logs were read. */
  function requireUpdate(): string {
    let oldest = clock.now();
    for (const { updatedAt } of followers) {
      if (updatedAt === undefined) throw new AccountError(503, 'Affiliate statistics are being computed', 5);
      oldest = Math.min(oldest, updatedAt);
    }
    return formatIsoDate(oldest);
  }

  async function readPaidOut(role: 'affiliate' | 'trader', address: Address, call: StatisticsCall): Promise<bigint> {
    return payouts === undefined ? 0n : toMicros(await payouts.paidOut(role, address, call));
  }

  return {
    async affiliate(address, call) {
      const lastUpdatedAt = requireUpdate();
      const affiliate = await store.affiliates.byWallet(address);
      if (affiliate === undefined) return undefined;
      const { code, walletAddress } = affiliate;
      const terms = getTerms(code);
      const traders = ledger.boundTo(code, walletAddress);
      const volume = traders.reduce((sum, { eligibleVolume }) => sum + eligibleVolume, 0n);
      const { earned, left } = computeRewards(volume, terms, terms.revenueSplitAffiliatePct);
      const paidOut = await readPaidOut('affiliate', address, call);
      const now = clock.now();
      return {
        affiliate_address: address,
        referrer_code: code,
        total_volume: toDollars(volume),
        trigger_volume: terms.triggerVolume,
        ...toPayments(earned, paidOut),
        left_to_next_reward: toDollars(left),
        active_traders: traders.filter(({ binding }) => binding !== undefined && now < binding.rewardsEnd).length,
        total_traders: traders.length,
        lastUpdatedAt,
      };
    },
    async trader(address, call) {
      const lastUpdatedAt = requireUpdate();
      const { binding, eligibleVolume } = ledger.trader(address) ?? {};
      if (binding === undefined || eligibleVolume === undefined) return undefined;
      const terms = getTerms(binding.code);
      const { earned, left } = computeRewards(eligibleVolume, terms, terms.revenueSplitTraderPct);
      return {
        trader_address: address,
        bound_referrer_code: binding.code,
        linked_since: formatTime(binding.linkedSince),
        rewards_end: formatTime(binding.rewardsEnd),
        eligible_volume: toDollars(eligibleVolume),
        left_to_next_rewards: toDollars(left),
        trigger_volume: terms.triggerVolume,
        ...toPayments(earned, await readPaidOut('trader', address, call)),
        lastUpdatedAt,
      };
    },
    async traderActivity(address, { all = false }) {
      const lastUpdatedAt = requireUpdate();
      const { trades = [], chainIds = [], binding } = ledger.trader(address) ?? {};
      const first = all ? 0 : Math.max(0, trades.length - MAX_ROWS);
      const listed = trades
        .slice(first)
        .map((trade, i) => ({ trade, chainId: chainIds[first + i] ?? 0 }))
        .reverse();
      const labels = new Map<number, ReturnType<typeof findTokens>>();
      for (const chainId of new Set(listed.map((each) => each.chainId))) {
        const referrals = listed.flatMap((each) => (each.chainId === chainId ? [each.trade.referral] : []));
        // Symbols and decimals are optional, so a failure of the node does not reject the call.
        labels.set(
          chainId,
          findTokens(referrals, (token) => tokens(chainId, token), onFailure),
        );
      }
      const rows = [];
      for (const { trade, chainId } of listed) {
        if (rows.length > 0 && rows.length % ROWS_PER_TICK === 0) await yieldToEventLoop();
        const getTokens = await labels.get(chainId);
        rows.push(toActivityRow(address, chainId, trade, binding?.code, getTokens?.(trade.referral)));
      }
      return { rows, lastUpdatedAt };
    },
    start() {
      ledger.clear();
      for (const follower of followers) follower.start();
    },
    async stop() {
      for (const follower of followers) await follower.stop();
    },
  };
}

/** Amounts in US dollars. More may have been paid than was earned, if the terms have changed. */
function toPayments(earned: bigint, paidOut: bigint) {
  return {
    total_earned: toDollars(earned),
    paid_out: toDollars(paidOut),
    next_payout: toDollars(earned > paidOut ? earned - paidOut : 0n),
  };
}

function toActivityRow(
  trader: Address,
  chainId: number,
  { at, referral, reason, eligible }: EvaluatedTrade,
  boundCode: string | undefined,
  { sell, buy }: Partial<OrderTokens> = {},
): StatisticsResponse {
  return {
    chain_id: chainId,
    creation_date: formatTime(at),
    tx_hash: referral.txHash,
    order_uid: referral.uid,
    trader_address: trader,
    sell_token: referral.sellToken,
    buy_token: referral.buyToken,
    ...(sell?.symbol === undefined ? {} : { sell_token_symbol: sell.symbol }),
    ...(buy?.symbol === undefined ? {} : { buy_token_symbol: buy.symbol }),
    executed_sell_amount: toWholeTokens(referral.sellAmount, sell),
    executed_buy_amount: toWholeTokens(referral.buyAmount, buy),
    usd_value: referral.value === null ? null : toDollars(BigInt(referral.value)),
    eligible_volume_usd: toDollars(eligible),
    referrer_code: referral.code,
    bound_referrer_code: boundCode ?? null,
    eligibility_reason: reason,
    is_bound_to_code: boundCode === referral.code,
    is_eligible: reason === 'eligible',
  };
}

/** Converts atoms to whole tokens; null if the decimals are unknown. */
function toWholeTokens(atoms: string, label: OrderTokens['sell']): string | null {
  return label?.decimals === undefined ? null : formatDecimal({ digits: BigInt(atoms), scale: label.decimals });
}

/** Formats a time as production does: `2026-04-09 01:59:07.000 UTC`. */
function formatTime(ms: number): string {
  return formatIsoDate(ms).replace('T', ' ').replace('Z', ' UTC');
}
