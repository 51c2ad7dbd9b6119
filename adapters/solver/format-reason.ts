/** Maximum length of a reason. */
const MAX_REASON = 500;

/**
 * Returns the message of an error without URLs, because the URL of a node often contains a key. The error itself must
 * not be the cause of another one for the same reason.
 */
export function formatReason(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.replaceAll(/\w+:\/\/\S+/g, '…').slice(0, MAX_REASON);
}
