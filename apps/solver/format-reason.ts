import { formatError } from '#internal';

/** Characters of a message in which URLs are searched. */
const MAX_SEARCHED = 2_000;

/** Maximum length of a reason. */
const MAX_REASON = 500;

/**
 * Returns the message of an error without URLs, because the URL of a node often contains a key. The error itself must
 * not be the cause of another one for the same reason.
 */
export function formatReason(error: unknown): string {
  const text = error instanceof Error ? error.message : formatError(error);
  // Cut before the search, which takes quadratic time in a long word.
  return text
    .slice(0, MAX_SEARCHED)
    .replaceAll(/\w+:\/\/\S+/g, '…')
    .slice(0, MAX_REASON);
}
