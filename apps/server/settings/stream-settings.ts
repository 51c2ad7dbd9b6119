import { inGroup, type SettingTable } from './setting.ts';
import { integerSetting, matching, natsUrls, partialSetting } from './types.ts';

export const STREAM_SETTINGS = {
  ...inGroup('Streams', {
    natsUrl: {
      type: natsUrls(),
      help: 'URLs of NATS servers with JetStream, to which the log is published: `nats://user:password@host:4222`.',
      defaultText: 'the log is not published',
      secret: true,
      packages: ['@nats-io/jetstream', '@nats-io/transport-node'],
    },
    natsStream: {
      type: matching(/^[A-Za-z0-9_-]{1,64}$/, '<name>', 'letters, digits, "_" and "-", at most 64'),
      help: 'Name of the stream of a book, and prefix of its subjects. No other book may have the same.',
      defaultText: '`intentbook-` and the name of the chain, then `-staging` for that environment',
      requires: 'natsUrl',
    },
    streams: {
      type: partialSetting({
        queueSize: {
          type: integerSetting(1, 1_000_000),
          help: 'Maximum number of events that wait for a slow subscriber.',
          default: 256,
        },
        resumeLimit: {
          type: integerSetting(1, 10_000_000),
          help: 'Maximum number of log entries that a subscriber can resume over.',
          default: 10_000,
        },
      }),
      help: 'Limits of event streams: `{ "queueSize", "resumeLimit" }`.',
    },
  }),
} as const satisfies SettingTable;
