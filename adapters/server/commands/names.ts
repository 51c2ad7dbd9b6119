/** Commands that do one thing with a book and end. */
export const COMMAND_NAMES = ['export', 'import', 'verify', 'prune', 'backup'] as const;
export type CommandName = (typeof COMMAND_NAMES)[number];

/** Those that are told a file. */
export const TAKES_FILE: readonly CommandName[] = ['export', 'import', 'backup'];
