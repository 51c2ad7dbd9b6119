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
  const { message, code, name, errors, cause } = error as Partial<AggregateError> & { readonly code?: unknown };
  const reason = depth === 0 ? '' : findText(cause ?? errors?.[0], depth - 1);
  if (message === undefined || message === '') return reason || String(code ?? name ?? '');
  return reason === '' ? message : `${message} (${reason})`;
}
