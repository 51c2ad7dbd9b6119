import type { ServeOptions } from '../index.ts';
import { BOOK_KEYS } from '../settings/schema.ts';
import { singleBook } from '../settings/single-book.ts';
import { ConfigError } from './config-errors.ts';
import { planServer, type ServerPlan } from './plan.ts';

/**
 * Plans a server from the options of `serve`. Returns its plan, and the store of each book that its host provides.
 *
 * @throws ConfigError naming every invalid key.
 */
export function planOptions({ folder = '.', ...options }: ServeOptions) {
  const { settings, stores } = separate(options);
  const plan = planServer(settings, folder);
  const ignored = stores.every((store) => store === undefined) ? findIgnoredChannel(plan) : undefined;
  if (ignored !== undefined) throw new ConfigError([`"accounts" is missing: "${ignored}" requires it with PostgreSQL`]);
  return { plan, stores };
}

/** Finds a notification channel of a server whose account interface is off by default. */
function findIgnoredChannel({ settings, books: [first] }: ServerPlan): string | undefined {
  if (settings.accounts !== undefined || first?.place.kind !== 'postgres') return undefined;
  return (['telegram', 'smtp', 'vapidSubject'] as const).find((key) => settings[key] !== undefined);
}

/** Separates the stores from the settings, which are plain data. A single book becomes a list. */
function separate(options: Omit<ServeOptions, 'folder'>) {
  const { books, ...rest } = options;
  if (books === undefined) {
    const { store, ...plain } = rest;
    const members = Object.entries(plain).filter(([, value]) => value !== undefined);
    const of = (key: string) => BOOK_KEYS.includes(key);
    const single = Object.fromEntries(members.filter(([key]) => of(key)));
    const others = Object.fromEntries(members.filter(([key]) => !of(key)));
    return { settings: { ...others, books: [singleBook(single)] }, stores: [store] };
  }
  const stores = books.map(({ store }) => store);
  return { settings: { ...rest, books: books.map(({ store: _, ...book }) => book) }, stores };
}
