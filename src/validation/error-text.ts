/** Maximum number of causes in a text. A cause may be the error itself. */
const MAX_DEPTH = 3;

/**
 * Formats the message of an error with that of its cause: `fetch failed (bad port)`. Failed attempts at several
 * addresses of a name have no message, but that of the first one. The text is never empty.
 */
export function formatError(error: unknown): string {
  return findText(error, MAX_DEPTH) || 'unknown error';
}

function findText(error: unknown, depth: number): string {
  if (typeof error !== 'object' || error === null) return String(error ?? '');
  if (depth < 0) return '';
  // A host may throw any value, such as the body or the response of a service.
  const { message, code, name, status, errors, cause, error: inner } = error as Record<string, unknown>;
  const text = findText(message, depth - 1);
  const reason = findText(cause ?? Object(errors)[0], depth - 1);
  if (text === '') return reason || findText(inner, depth - 1) || String(code ?? name ?? status ?? '');
  return reason === '' ? text : `${text} (${reason})`;
}
