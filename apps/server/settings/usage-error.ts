/** An invalid command line. The message is one line, or a line for each of several problems. */
export class UsageError extends Error {
  override readonly name = 'UsageError';

  constructor(...problems: readonly string[]) {
    super(problems.length === 1 ? problems[0] : [`${problems.length} problems:`, ...problems].join('\n  '));
  }
}

/** @throws UsageError if there are problems. A problem that was found twice counts once. */
export function assertNoProblem(problems: readonly string[]): void {
  if (problems.length > 0) throw new UsageError(...new Set(problems));
}
