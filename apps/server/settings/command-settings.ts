import { inGroup, type SettingTable } from './setting.ts';
import {
  addressSetting,
  enumSetting,
  fileSetting,
  httpUrl,
  integerSetting,
  onOffAlone,
  plainTextSetting,
} from './types.ts';

/** Flags that are no settings of a server. They are absent from the configuration file. */
export const COMMAND_SETTINGS = {
  ...inGroup('Server', {
    config: {
      type: fileSetting(),
      help: 'JSON configuration file with one or more books. Flags of a book cannot be combined with it.',
      common: true,
    },
  }),
  ...inGroup('Command', {
    olderThan: {
      type: integerSetting(1, 36_500, '<days>', 'a number of days'),
      help: 'Minimum number of days since an order has finished.',
      default: 90,
    },
    dryRun: {
      type: onOffAlone(),
      help: 'Whether `prune` only prints the number of orders that it would delete.',
      default: false,
    },
    yes: {
      type: onOffAlone(),
      help: 'Whether `prune` deletes without a confirmation on a terminal.',
      default: false,
    },
    table: {
      type: enumSetting('orders', 'trades', 'notifications'),
      help: 'Table that is exported to a `.csv` or `.parquet` file.',
      default: 'orders',
    },
    after: {
      type: integerSetting(0, Number.MAX_SAFE_INTEGER, '<cursor>', 'the cursor of an earlier export'),
      help: 'Exports only the changes after a `cursor`, which an earlier export to a `.csv` or `.parquet` file has printed.',
      defaultText: 'all rows',
    },
    toBlock: {
      type: integerSetting(0, Number.MAX_SAFE_INTEGER, '<block>', 'a block number'),
      help: 'The newest block whose chain events stay.',
    },
    against: {
      type: httpUrl(),
      help: 'URL of another order book with which each order is compared.',
      defaultText: 'none',
      secret: true,
    },
    againstKey: {
      type: plainTextSetting('<key>', 'a key'),
      help: 'Key that is sent to this order book as `X-API-Key`.',
      defaultText: 'none',
      secret: true,
      requires: 'against',
    },
    account: { type: addressSetting(), help: 'The account whose personal data is deleted.' },
    check: {
      type: onOffAlone(),
      help: 'Whether a backup is only verified. `restore` requires it.',
      default: false,
    },
    connect: {
      type: onOffAlone(),
      help: 'Whether to connect to PostgreSQL and to compare the schemas with those that this release needs.',
      default: false,
    },
    json: {
      type: onOffAlone(),
      help: 'Whether the result, or the error, is printed as one JSON object.',
      default: false,
    },
  }),
} as const satisfies SettingTable;
