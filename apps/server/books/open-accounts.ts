import { join, parse, resolve } from 'node:path';
import type { AccountStore, Channel } from 'intentbook';
import type { Accounts, AffiliatesOptions } from 'intentbook/accounts';
import { createAccounts } from 'intentbook/accounts';
import { defined, PRODUCTION_DOMAIN_NAME } from '#internal';
import { getAddress, type Pooler, type ServerPlan } from '../config/plan.ts';
import { requirePackage } from '../require-package.ts';
import { payoutFile } from './affiliate-payouts.ts';
import { httpStatistics } from './affiliate-statistics.ts';
import { mainnetChain } from './chain-options.ts';
import { cmsAnnouncements } from './cms.ts';
import { type OpenBook, toSessionOptions } from './open-books.ts';
import { poolSources } from './pool-sources.ts';
import { simulatorOptions } from './simulator-options.ts';
import { tokenSources } from './token-sources.ts';
import { slippageOptions, usdPriceOptions } from './usd-price-options.ts';
import type { LeaseWait } from './wait-for-lease.ts';
import { waitForLease } from './wait-for-lease.ts';

/** Opens the account interface of all books. `undefined` if it is disabled. */
export async function openAccounts({
  plan,
  deployments,
  hosted,
  folder,
  leaseWait,
}: {
  readonly plan: ServerPlan;
  readonly deployments: readonly OpenBook[];
  /** Whether the host provides the stores of its books. */
  readonly hosted: boolean;
  /** Base of relative file names. */
  readonly folder: string;
  readonly leaseWait: LeaseWait;
}): Promise<Accounts | undefined> {
  const {
    accounts: setting,
    notifications,
    revertedNotifications,
    fundingCheck,
    retentionNotifications: retention,
    publicUrl,
  } = plan.settings;
  const location = setting ?? (hosted ? ':memory:' : defaultLocation(plan));
  if (location === 'off') return undefined;
  const mainnet = await mainnetChain(plan.settings.affiliateRpc ?? rpcOfMainnet(plan));
  const accounts: Accounts = createAccounts({
    books: deployments.map(({ book, environment }) => ({ book, env: environment })),
    store: await accountStoreAt(location, { folder, migrate: migrates(plan), pooler: findPooler(plan, location) }),
    notifications,
    revertedNotifications,
    ...defined({ audience: publicUrl && new URL(publicUrl).host, retention, mainnet }),
    fundingInterval: fundingCheck === 'off' ? fundingCheck : fundingCheck * 1000,
    affiliates: affiliateOptions(plan, folder),
    usdPrices: await usdPriceOptions(plan, deployments),
    pools: await poolSources(plan, async (chainId, token) => (await accounts.usdPrices.get(chainId, token))?.price),
    ...(await tokenSources(plan)),
    simulators: await simulatorOptions(plan),
    slippage: await slippageOptions(plan),
    channels: await createChannels(plan),
    ...(plan.settings.cms === undefined ? {} : { announcements: cmsAnnouncements(plan.settings.cms) }),
    onFailure: (failure) => deployments[0]?.book.reportError(failure),
  });
  await waitForLease('accounts', accounts.start, leaseWait);
  return accounts;
}

/** Returns the name of the signing domain. With the profile of production, its front ends are expected. */
export function getAffiliateDomain({ settings, books }: Pick<ServerPlan, 'settings' | 'books'>): string | undefined {
  const isProduction = books.length > 0 && books.every((book) => book.settings.profile === 'production');
  return settings.affiliateDomain ?? (isProduction ? PRODUCTION_DOMAIN_NAME : undefined);
}

function affiliateOptions(plan: ServerPlan, folder: string): AffiliatesOptions {
  const { settings } = plan;
  const domainName = getAffiliateDomain(plan);
  const { affiliateTerms: terms, affiliateTermsByCode: termsByCode } = settings;
  const { affiliateStatistics: source, affiliatePayouts: payouts } = settings;
  return defined({
    domainName,
    terms,
    termsByCode,
    statistics: source === undefined || source === 'own' ? source : httpStatistics(source),
    payouts: payouts === undefined ? undefined : payoutFile(resolve(folder, payouts)),
  });
}

/** Returns the nodes of the mainnet book, if there is one, for contract wallets. */
function rpcOfMainnet({ books }: ServerPlan): readonly string[] | undefined {
  return books.find(({ chainId, settings }) => chainId === 1 && settings.rpc !== undefined)?.settings.rpc;
}

/**
 * Returns the default account store: next to the file of the first book, or in memory if that book is. With PostgreSQL
 * the account interface is off by default, since its schema must be migrated first.
 */
export function defaultLocation({ books: [first] }: ServerPlan): string {
  switch (first?.place.kind) {
    case 'file': {
      const { dir, base, name, ext } = parse(first.place.path);
      // Books with the same stem, such as a.sqlite and a.db, must not share an account store.
      return join(dir, ext === '.sqlite' ? `${name}-accounts.sqlite` : `${base}.accounts.sqlite`);
    }
    case 'postgres':
      return 'off';
    default:
      return ':memory:';
  }
}

/** Creates the notification channels of a server. */
export async function createChannels({ settings }: Pick<ServerPlan, 'settings'>): Promise<Channel[]> {
  const { webhookAllow: allow, telegram, smtp, mailFrom: from, publicUrl } = settings;
  const { vapidSubject: subject, vapidPublicKey: publicKey, vapidPrivateKey: privateKey } = settings;
  const { emailChannel, telegramChannel, webhookChannel, webPushChannel } = await import('intentbook/channels');
  const channels = [webhookChannel({ allow })];
  if (telegram !== undefined) channels.push(telegramChannel(telegram));
  // The plan has checked that these settings are complete.
  if (smtp !== undefined && from !== undefined && publicUrl !== undefined) {
    await requirePackage('--smtp', 'nodemailer', () => import('nodemailer'));
    channels.push(emailChannel({ smtp, from, publicUrl }));
  }
  if (subject !== undefined && publicKey !== undefined && privateKey !== undefined) {
    await requirePackage('--vapid-subject', 'web-push', () => import('web-push'));
    channels.push(webPushChannel({ subject, publicKey, privateKey, allow }));
  }
  return channels;
}

/** Returns whether the schemas of the books, and with them the account schema, are migrated. */
const migrates = ({ books }: ServerPlan) => books.some(({ place }) => place.kind === 'postgres' && place.migrate);

/** Returns the pooler in front of a database, as a book in the same database names it. */
const findPooler = ({ books }: ServerPlan, url: string) =>
  books.flatMap(({ place }) =>
    place.kind === 'postgres' && getAddress(place.url) === getAddress(url) && place.pooler !== undefined
      ? [place.pooler]
      : [],
  )[0];

/** Where an account store is, and how it is opened. */
interface AccountStoreOptions {
  /** Base of relative file names. Default: the current directory. */
  readonly folder?: string;
  readonly migrate: boolean;
  readonly pooler?: Pooler | undefined;
  /** Whether a file is opened for reads only. Default: false. */
  readonly readOnly?: boolean;
}

/** Creates the account store of a setting, not yet opened. A store in a file migrates itself. */
export async function accountStoreAt(
  place: string,
  { folder = '.', migrate, pooler, readOnly = false }: AccountStoreOptions,
): Promise<AccountStore> {
  if (place === ':memory:') return (await import('intentbook/memory')).memoryAccountStore();
  if (isDatabase(place)) {
    const { postgresAccountStore } = await import('intentbook/postgres');
    return postgresAccountStore({ url: place, migrate, ...toSessionOptions(pooler) });
  }
  return (await import('intentbook/sqlite')).sqliteAccountStore({ path: resolve(folder, place), readOnly });
}

/** Returns whether a location is a PostgreSQL connection string. */
export const isDatabase = (place: string) => /^postgres(ql)?:/.test(place);

/** Returns whether the location of an account store is a file. */
export const isAccountFile = (place: string) => place !== 'off' && place !== ':memory:' && !isDatabase(place);
