import { activityFile, readData } from '../api.js';
import { code, descriptionList, element, note, section, table } from '../elements.js';
import { short } from '../format.js';
import { orderLink } from '../order-table.js';
import { dollars } from '../units.js';
import { accountHead } from './account.js';

/** Renders the part of an account in the affiliate program: its code, its statistics, and its trades. */
export async function affiliate(view, address) {
  const { signal } = view;
  const head = accountHead(view, address, 'affiliate');
  const found = await readData(`affiliates/${address}`, signal);
  if (found === null) return [...head, note('This server has no account interface, which has the affiliate program.')];
  const { affiliate: registered, statistics, reason } = found;
  const parts = statistics === undefined ? [unavailable(reason)] : renderStatistics(view, address, statistics);
  return [...head, section('Code', describeCode(registered)), ...parts];
}

function describeCode(registered) {
  if (registered === null) {
    return note('This account has no affiliate code. A code is registered with a signature of the account.');
  }
  const { createdAt, triggerVolume, rewardAmount } = registered;
  return descriptionList([
    ['Code', code(registered.code)],
    ['Registered', new Date(createdAt).toLocaleDateString()],
    [
      'Reward',
      rewardAmount === undefined ? undefined : `${dollars(rewardAmount)} per ${dollars(triggerVolume)} traded`,
    ],
  ]);
}

function unavailable(reason) {
  const text = 'An operator enables statistics with a source of statistics (affiliateStatistics).';
  return section('Statistics', note(`${reason}. ${text}`));
}

function renderStatistics(view, address, { affiliate: own, trader, traderActivity }) {
  return [
    section('As affiliate', own === null ? note('No trade has used a code of this account.') : describeOwn(own)),
    section('As trader', trader === null ? note('This account is not bound to a code.') : describeTrader(trader)),
    section('Trades with a code', ...activity(view, address, traderActivity?.rows ?? [])),
  ];
}

const payments = ({ total_earned, paid_out, next_payout }) => [
  ['Earned', dollars(total_earned)],
  ['Paid out', dollars(paid_out)],
  ['Next payout', dollars(next_payout)],
];

function describeOwn({ total_volume, trigger_volume, left_to_next_reward, active_traders, total_traders, ...rest }) {
  return descriptionList([
    ['Traders', `${active_traders} active, ${total_traders} in total`],
    ['Volume', dollars(total_volume)],
    ['To the next reward', `${dollars(left_to_next_reward)} of ${dollars(trigger_volume)}`],
    ...payments(rest),
  ]);
}

function describeTrader({ bound_referrer_code, linked_since, rewards_end, eligible_volume, ...rest }) {
  return descriptionList([
    ['Code', code(bound_referrer_code)],
    ['Since', linked_since],
    ['Rewards end', rewards_end],
    ['Eligible volume', dollars(eligible_volume)],
    ['To the next reward', `${dollars(rest.left_to_next_rewards)} of ${dollars(rest.trigger_volume)}`],
    ...payments(rest),
  ]);
}

/** Renders the newest trades of a trader, with the reason why each counts or does not count. */
function activity({ clients }, address, rows) {
  if (rows.length === 0) return [note('No order of this account with an affiliate code was filled.')];
  const heads = ['Book', 'Order', 'Sold', 'Bought', 'Value', 'Counts', 'Code'];
  const cells = rows.map((row) => {
    const client = clients.find(({ book }) => book.chainId === row.chain_id);
    return [
      client?.book.chain ?? `chain ${row.chain_id}`,
      client === undefined ? short(row.order_uid) : orderLink(row.order_uid, client.prefix),
      amount(row.executed_sell_amount, row.sell_token_symbol ?? short(row.sell_token)),
      amount(row.executed_buy_amount, row.buy_token_symbol ?? short(row.buy_token)),
      dollars(row.usd_value),
      row.is_eligible ? dollars(row.eligible_volume_usd) : `no: ${row.eligibility_reason.replaceAll('_', ' ')}`,
      code(row.referrer_code),
    ];
  });
  const file = element('a', { href: activityFile(address), download: `activity-${address}.csv` }, 'Download CSV');
  return [element('p', {}, file), table('Trades with a code', heads, cells)];
}

const amount = (value, symbol) => element('span', { class: 'digits' }, value === null ? symbol : `${value} ${symbol}`);
