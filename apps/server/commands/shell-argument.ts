/** Returns the name of a file as one argument of a command that a user can copy into a POSIX shell. */
export function quoteArgument(text: string): string {
  // A name that begins with a dash would be a flag.
  if (text.startsWith('-')) return quoteArgument(`./${text}`);
  return /^[\w./\\:-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
