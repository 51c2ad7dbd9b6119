import { dirname, join, parse, resolve } from 'node:path';
import type { AccountStore, Accounts, Channel } from 'intentbook';
import { createAccounts } from 'intentbook';
import { mainnetChain } from './chain-options.ts';
import { cmsAnnouncements } from './cms.ts';
import type { ServerPlan } from './config/plan.ts';
import type { OpenBook } from './open-books.ts';
import { usdPriceOptions } from './usd-price-options.ts';

/** What the account interface of a server is made with. */
export interface AccountsContext {
  readonly plan: ServerPlan;
  readonly deployments: readonly OpenBook[];
  /** Whether a host brings the stores of its books. */
  readonly hosted: boolean;
  /** Where relative file names begin. */
  readonly folder: string;
}

/** Opens the account interface of all books; `undefined` when it is switched off. */
export async function openAccounts({
  plan,
  deployments,
  hosted,
  folder,
}: AccountsContext): Promise<Accounts | undefined> {
  const { accounts: said, notifications, fundingCheck } = plan.settings;
  const place = said ?? (hosted ? ':memory:' : defaultLocation(plan));
  if (place === 'off') return undefined;
  const { affiliateDomain: domainName } = plan.settings;
  const mainnet = await mainnetChain(plan.settings.affiliateRpc ?? rpcOfMainnet(plan));
  const accounts = createAccounts({
    books: deployments.map(({ book, environment }) => ({ book, env: environment })),
    store: await accountStoreAt(place, { folder, migrate: migrates(plan) }),
    notifications,
    fundingInterval: fundingCheck === 'off' ? fundingCheck : fundingCheck * 1000,
    affiliates: domainName === undefined ? {} : { domainName },
    usdPrices: await usdPriceOptions(plan, deployments),
    ...(mainnet === undefined ? {} : { mainnet }),
    channels: await createChannels(plan),
    ...(plan.settings.cms === undefined ? {} : { announcements: cmsAnnouncements(plan.settings.cms) }),
    onFailure: (failure) => deployments[0]?.book.reportError(failure),
  });
  await accounts.start();
  return accounts;
}

/** The nodes of the book of chain 1, if there is one, know its contract wallets. */
function rpcOfMainnet({ books }: ServerPlan): readonly string[] | undefined {
  return books.find(({ chainId, settings }) => chainId === 1 && settings.rpc !== undefined)?.settings.rpc;
}

/**
 * Beside the file of the first book; in memory when that is. Several processes share a database, whose schema somebody
 * has to make: there it is off until it is said.
 */
function defaultLocation({ books: [first] }: ServerPlan): string {
  switch (first?.place.kind) {
    case 'file': {
      const { path } = first.place;
      return join(dirname(path), `${parse(path).name}-accounts.sqlite`);
    }
    case 'postgres':
      return 'off';
    default:
      return ':memory:';
  }
}

async function createChannels({ settings }: ServerPlan): Promise<Channel[]> {
  const { webhookAllow: allow, telegram, smtp, mailFrom: from, publicUrl } = settings;
  const { vapidSubject: subject, vapidPublicKey: publicKey, vapidPrivateKey: privateKey } = settings;
  const { emailChannel, telegramChannel, webhookChannel, webPushChannel } = await import('intentbook/channels');
  const channels = [webhookChannel({ allow })];
  if (telegram !== undefined) channels.push(telegramChannel(telegram));
  // Each of these is there with the others, or is not.
  if (smtp !== undefined && from !== undefined && publicUrl !== undefined) {
    await import('nodemailer'); // a server that cannot tell anybody does not start
    channels.push(emailChannel({ smtp, from, publicUrl }));
  }
  if (subject !== undefined && publicKey !== undefined && privateKey !== undefined) {
    await import('web-push');
    channels.push(webPushChannel({ subject, publicKey, privateKey, allow }));
  }
  return channels;
}

/** Whether the schemas of the books are brought up to date, and with them that of their accounts. */
const migrates = ({ books }: ServerPlan) => books.some(({ place }) => place.kind === 'postgres' && place.migrate);

/** Makes the store that a setting names, not yet opened. One in a file brings its schema up to date by itself. */
export async function accountStoreAt(
  place: string,
  { folder = '.', migrate }: { readonly folder?: string; readonly migrate: boolean },
): Promise<AccountStore> {
  if (place === ':memory:') return (await import('intentbook/memory')).memoryAccountStore();
  if (isDatabase(place)) {
    return (await import('intentbook/postgres')).postgresAccountStore({ url: place, migrate });
  }
  return (await import('intentbook/sqlite')).sqliteAccountStore({ path: resolve(folder, place) });
}

/** Whether accounts are kept in PostgreSQL: a connection string, with its secrets. */
export const isDatabase = (place: string) => /^postgres(ql)?:/.test(place);
