import { formatUnknownName } from '#internal';

/** Minimum length of a text for which a similar one is probably the intended one. */
const MIN_LENGTH = 4;

/** Returns the end of an error message, with the most similar of the valid texts. Empty if none is similar. */
export function suggest(given: unknown, names: readonly string[]): string {
  if (typeof given !== 'string' || given.length < MIN_LENGTH) return '';
  const [question] = /did you mean ".*"\?$/.exec(formatUnknownName('value', given, names)) ?? [];
  return question === undefined ? '' : `; ${question}`;
}
