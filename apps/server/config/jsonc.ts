/**
 * Parses JSON with comments and trailing commas.
 *
 * @throws SyntaxError with the line and the column of the problem, without the text at that place.
 */
export function parseJsonc(text: string): unknown {
  const plain = blankComments(text);
  try {
    return JSON.parse(plain);
  } catch {
    // The message of JSON.parse depends on the runtime and often has no position.
    const { at, expected } = findProblem(plain);
    const lines = plain.slice(0, at).split('\n');
    const place = `line ${lines.length}, column ${(lines.at(-1)?.length ?? 0) + 1}`;
    throw new SyntaxError(`${place}: expected ${expected}, got ${describe(plain[at])}`);
  }
}

/** Describes the value that a character begins. It does not repeat the text, which may be a secret. */
function describe(character: string | undefined): string {
  if (character === undefined) return 'the end of the file';
  if (character === '"') return 'a string';
  return /[{}[\]:,]/.test(character) ? `"${character}"` : 'a text without quotes';
}

/** A string or a comment. Strings are matched too, since they may contain the start of a comment. */
const COMMENTS = /"(?:[^"\\\n]|\\.)*"|\/\/[^\n]*|\/\*[\s\S]*?\*\//g;
/** A string, or a comma before a closing bracket. */
const COMMAS = /"(?:[^"\\\n]|\\.)*"|,(?=\s*[}\]])/g;

/** Replaces comments, then trailing commas, with blanks, so that positions stay the same. */
function blankComments(text: string): string {
  const blank = (token: string) => (token.startsWith('"') ? token : token.replace(/[^\n]/g, ' '));
  return text.replace(COMMENTS, blank).replace(COMMAS, blank);
}

const SCALAR =
  /"(?:[^"\\\p{Cc}]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/uy;

interface Problem {
  readonly at: number;
  readonly expected: string;
}

/** Finds the first position at which a text is not JSON. */
function findProblem(text: string): Problem {
  let at = 0;

  function skip(token: string): boolean {
    while (/\s/.test(text[at] ?? '')) at++;
    if (token === '' || text[at] !== token) return false;
    at++;
    return true;
  }

  function readScalar(): string | undefined {
    skip('');
    SCALAR.lastIndex = at;
    const [token] = SCALAR.exec(text) ?? [];
    at += token?.length ?? 0;
    return token;
  }

  function readValue(): Problem | undefined {
    if (skip('[')) return readMembers(']', readValue);
    if (skip('{')) return readMembers('}', readMember);
    return readScalar() === undefined ? { at, expected: 'a value' } : undefined;
  }

  function readMember(): Problem | undefined {
    skip('');
    const start = at;
    if (readScalar()?.startsWith('"') !== true) return { at: start, expected: 'a key in double quotes' };
    return skip(':') ? readValue() : { at, expected: '":"' };
  }

  function readMembers(end: string, read: () => Problem | undefined): Problem | undefined {
    if (skip(end)) return undefined;
    for (;;) {
      const problem = read();
      if (problem !== undefined) return problem;
      if (skip(end)) return undefined;
      if (!skip(',')) return { at, expected: `"," or "${end}"` };
    }
  }

  const problem = readValue();
  skip('');
  return problem ?? { at, expected: 'the end of the file' };
}
