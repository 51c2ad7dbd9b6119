import { inGroup, type SettingTable } from './setting.ts';
import { addressSetting, enumSetting, httpUrls, integerSetting } from './types.ts';

export const CHAIN_SETTINGS = {
  ...inGroup('Chain', {
    rpc: {
      type: httpUrls(),
      help: 'Nodes of the chain, the preferred one first; the next is used when one fails.',
      defaultText: 'none, and chain checks and indexing are off',
      secret: true,
      notEmpty: true,
      common: true,
    },
    fromBlock: {
      type: integerSetting(0),
      help: 'First block whose events count, if the book has no checkpoint; 0 is the first block of the chain.',
      defaultText: 'the block after the newest',
      requires: 'rpc',
    },
    pollInterval: {
      type: integerSetting(1, 3_600_000, '<milliseconds>'),
      help: 'Milliseconds between two requests for a new block.',
      default: 2000,
      requires: 'rpc',
    },
    reorgLimit: {
      type: integerSetting(1, 100_000, '<blocks>'),
      help: 'Maximum depth of a reorganisation, in blocks.',
      default: 64,
      requires: 'rpc',
    },
    sanctionsOracle: {
      type: addressSetting(),
      help: 'Contract with `isSanctioned(address)`. Orders of owners and receivers that it reports are rejected.',
      defaultText: 'none',
      requires: 'rpc',
      notEmpty: true,
    },
    checkTimeout: {
      type: integerSetting(1, 3_600_000, '<milliseconds>'),
      help: 'Maximum duration of a chain check of an order, in milliseconds.',
      default: 5000,
      requires: 'rpc',
    },
    justInTimeOrders: {
      type: enumSetting('own', 'all', 'off'),
      help:
        'Orders that a settlement has traded and the book does not have: those of settlements of its ' +
        'auctions, or of its orders without an auction, are stored (`own`), those of every settlement (`all`), or none (`off`).',
      defaultText: '`own`, with `--upstream` `off`',
      requires: 'rpc',
    },
  }),
} as const satisfies SettingTable;
