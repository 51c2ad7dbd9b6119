import { inGroup, type SettingTable } from './setting.ts';
import { integer, partialSetting } from './types.ts';

/** The settings of event streams. */
export const STREAM_SETTINGS = {
  ...inGroup('Streams', {
    streams: {
      type: partialSetting({
        queueSize: {
          type: integer(1, 1_000_000),
          help: 'Maximum number of events that wait for a slow subscriber.',
          default: 256,
        },
        resumeLimit: {
          type: integer(1, 10_000_000),
          help: 'Maximum number of log entries that a subscriber can resume over.',
          default: 10_000,
        },
      }),
      help: 'Limits of event streams: `{ "queueSize", "resumeLimit" }`.',
    },
  }),
} as const satisfies SettingTable;
