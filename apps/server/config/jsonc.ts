import { type ParseError, parse, printParseErrorCode } from 'jsonc-parser';

/**
 * Parses JSON with comments and trailing commas.
 *
 * @throws SyntaxError with the line and the column of the first problem, without the text at that place, which may be a
 * secret.
 */
export function parseJsonc(text: string): unknown {
  const errors: ParseError[] = [];
  const value: unknown = parse(text, errors, { allowTrailingComma: true });
  const [first] = errors;
  if (first === undefined) return value;
  const lines = text.slice(0, first.offset).split('\n');
  const place = `line ${lines.length}, column ${(lines.at(-1)?.length ?? 0) + 1}`;
  // `CloseBraceExpected` becomes "close brace expected".
  const problem = printParseErrorCode(first.error).replace(/\B[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
  throw new SyntaxError(`${place}: ${problem.toLowerCase()}`);
}
