import { type ParseError, parse, printParseErrorCode, visit } from 'jsonc-parser';
import { formatError } from '#internal';
import { readText } from './read-text.ts';

/**
 * Reads a file of JSON with comments.
 *
 * @param name - The file in words: `the file of prices prices.json`.
 * @throws TypeError with the name if the file cannot be read or is not JSON.
 */
export async function readJsonc(name: string, path: string): Promise<unknown> {
  const text = await readText(path).catch((cause: unknown) => {
    throw new TypeError(`${name} cannot be read`, { cause });
  });
  try {
    return parseJsonc(text);
  } catch (cause) {
    throw new TypeError(`${name} is not JSON: ${formatError(cause)}`, { cause });
  }
}

/**
 * Parses JSON with comments and trailing commas. A repeated key is a problem: one of its values would be
 * ignored. So is `__proto__`, which the parser would not store.
 *
 * @throws SyntaxError with the line and the column of the first problem, without the value at that place, which may be
 * a secret.
 */
export function parseJsonc(text: string): unknown {
  const errors: ParseError[] = [];
  const value: unknown = parse(text, errors, { allowTrailingComma: true });
  const [first] = errors;
  if (first === undefined) {
    assertKeys(text);
    return value;
  }
  const lines = text.slice(0, first.offset).split('\n');
  const place = `line ${lines.length}, column ${(lines.at(-1)?.length ?? 0) + 1}`;
  // `CloseBraceExpected` becomes "close brace expected".
  const problem = printParseErrorCode(first.error).replace(/\B[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
  throw new SyntaxError(`${place}: ${problem.toLowerCase()}`);
}

function assertKeys(text: string): void {
  const objects: Set<string>[] = [];
  visit(text, {
    onObjectBegin: () => void objects.push(new Set()),
    onObjectProperty(key, _offset, _length, line, column) {
      const keys = objects.at(-1);
      const problem = keys?.has(key) ? 'is repeated' : key === '__proto__' ? 'is not allowed' : undefined;
      if (problem !== undefined)
        throw new SyntaxError(`line ${line + 1}, column ${column + 1}: the key ${JSON.stringify(key)} ${problem}`);
      keys?.add(key);
    },
    onObjectEnd: () => void objects.pop(),
  });
}
