import { inGroup, type SettingTable } from './setting.ts';
import { integerSetting } from './types.ts';

const DAYS = integerSetting(1, 36_500, '<days>', 'a number of days');

/** Settings of the deletion of old data. */
export const RETENTION_SETTINGS = {
  ...inGroup('Store', {
    retention: {
      type: DAYS,
      help: 'Days after which finished orders are deleted.',
      defaultText: 'never',
      common: true,
    },
    retentionEvents: {
      type: DAYS,
      help: 'Days after which entries of the event log are deleted. Own affiliate statistics need the whole log.',
      defaultText: 'never',
    },
    retentionChainEvents: {
      type: DAYS,
      help: 'Days after which chain events of deleted orders are deleted; at least those of `retention`.',
      defaultText: 'never',
      requires: 'retention',
    },
    retentionDocuments: {
      type: DAYS,
      help: 'Days after which app-data documents without orders are deleted; at least those of `retention`.',
      defaultText: 'never',
      requires: 'retention',
    },
  }),
} as const satisfies SettingTable;
