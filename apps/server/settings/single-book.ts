import { BOOK_SETTINGS } from './book-settings.ts';

/** Completes the settings of a server without a configuration file: a book at the root, in its own file or schema. */
export function singleBook<T extends { readonly postgres?: string | undefined; readonly db?: string | undefined }>(
  book: T,
): T & { readonly path: string; readonly db?: string; readonly schema?: string } {
  const { path, db, schema } = BOOK_SETTINGS;
  const place = book.postgres === undefined ? { db: db.single } : { schema: schema.single };
  const given = Object.entries(book).filter(([, value]) => value !== undefined);
  return { path: path.single, ...place, ...(Object.fromEntries(given) as T) }; // the same members
}
