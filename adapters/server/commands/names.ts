/** The maintenance commands. */
export const COMMAND_NAMES = ['export', 'import', 'verify', 'prune', 'backup'] as const;
export type CommandName = (typeof COMMAND_NAMES)[number];

/** Commands with a file argument. */
export const TAKES_FILE: readonly CommandName[] = ['export', 'import', 'backup'];
