/** Commands that do one thing with a book and end. */
export const UPKEEP = ['export', 'import', 'verify', 'prune', 'backup'] as const;
export type UpkeepName = (typeof UPKEEP)[number];

/** Those that are told a file. */
export const TAKES_FILE: readonly UpkeepName[] = ['export', 'import', 'backup'];
