/** Returns a text as one argument of a command that a user can copy into a POSIX shell. */
export function quoteArgument(text: string): string {
  return /^[\w./\\:-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
