/**
 * Rejects options that this function does not know, naming the one that was probably meant, so that a misspelling is
 * not silently a default.
 *
 * @throws TypeError naming the unknown option.
 */
export function assertKnownOptions(where: string, options: object, known: readonly string[]): void {
  for (const name of Object.keys(options)) {
    if (!known.includes(name)) throw new TypeError(`${where}: ${formatUnknownName('option', name, known)}`);
  }
}

/** Letters of the longest name that is looked at: nobody misspells at length, and comparing takes the product of the lengths. */
const LONGEST_NAME = 64;

/** Says that a name is not known, and which one is nearest to it. */
export function formatUnknownName(what: string, name: string, known: readonly string[]): string {
  if (name.length > LONGEST_NAME) return `unknown ${what} "${name.slice(0, LONGEST_NAME)}…"`;
  const nearest = known
    .map((candidate) => ({ candidate, distance: editDistance(name.toLowerCase(), candidate.toLowerCase()) }))
    .sort((a, b) => a.distance - b.distance)[0];
  const hint = nearest !== undefined && nearest.distance <= Math.max(2, name.length / 3);
  return `unknown ${what} "${name}"${hint ? `, did you mean "${nearest.candidate}"?` : ''}`;
}

/** How many letters to insert, drop or change to get from one text to the other (Levenshtein). */
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, i) => i);
  for (let i = 1; i <= from.length; i++) {
    const next = [i];
    for (let j = 1; j <= to.length; j++) {
      const change = (row[j - 1] ?? 0) + (from[i - 1] === to[j - 1] ? 0 : 1);
      next.push(Math.min(change, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[to.length] ?? 0;
}
