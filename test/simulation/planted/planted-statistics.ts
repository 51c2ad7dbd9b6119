import type { PlantedFault } from './planted.ts';

/** Faults of own statistics. */
export const PLANTED_STATISTICS: readonly PlantedFault[] = [
  {
    name: 'a trade of a block that was rolled back still counts',
    area: 'statistics',
    store: 'memory',
    file: 'src/affiliates/follower.ts',
    find: "if (cause.reverted === 'traded') ledger.remove(key);",
    replace: '',
  },
  {
    name: 'a trade counts twice',
    isQuick: true,
    area: 'statistics',
    store: 'memory',
    file: 'src/affiliates/program.ts',
    find: 'eligibleVolume += eligible;',
    replace: 'eligibleVolume += 2n * eligible;',
  },
  {
    name: 'a batch of the log is counted again after a failure',
    area: 'statistics',
    store: 'shared',
    file: 'src/affiliates/ledger.ts',
    find: 'add(entry: LedgerEntry): void {\n      remove(entry.key);',
    replace: 'add(entry: LedgerEntry): void {\n      entry = { ...entry, key: [entry.key, entries.size].join() };',
  },
  {
    name: 'trades are counted in the order of the log',
    area: 'statistics',
    store: 'memory',
    file: 'src/affiliates/ledger.ts',
    find: 'last !== undefined && isBefore(entry, last);',
    replace: 'last !== undefined && !isBefore(last, last) && isBefore(entry, entry);',
  },
  {
    name: 'a trade above the volume cap counts in full',
    area: 'statistics',
    store: 'memory',
    file: 'src/affiliates/program.ts',
    find: 'const counted = value < remaining ? value : remaining;',
    replace: 'const counted = remaining > 0n ? value : remaining;',
  },
  {
    name: 'trades after the time cap count',
    area: 'statistics',
    store: 'memory',
    file: 'src/affiliates/program.ts',
    find: 'if (at >= binding.rewardsEnd)',
    replace: 'if (at > binding.rewardsEnd + 30_000)',
  },
  {
    name: 'a trade on chain counts for the contract in place of the user',
    area: 'statistics',
    store: 'memory',
    file: 'src/affiliates/follower.ts',
    find: 'const trader = order?.onchainUser ?? owner;',
    replace: 'const trader = owner;',
  },
];
