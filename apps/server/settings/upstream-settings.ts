import { inGroup, type SettingTable } from './setting.ts';
import {
  addresses,
  decimalSetting,
  enumSetting,
  fileSetting,
  hashes,
  httpUrl,
  httpUrls,
  plainTextSetting,
} from './types.ts';

/** Settings of the order book behind a book. */
export const UPSTREAM_SETTINGS = inGroup('Upstream', {
  upstream: {
    type: httpUrl(),
    help: 'URL of an order book behind this one, such as `https://api.cow.fi/mainnet`. Orders are sent there, and followed.',
    defaultText: 'none',
    secret: true,
    common: true,
  },
  upstreamFallbacks: {
    type: httpUrls(),
    help: 'URLs that are read while the upstream fails, in this order. Nothing is sent there.',
    defaultText: 'none',
    secret: true,
    requires: 'upstream',
  },
  upstreamKeyFile: {
    type: fileSetting(),
    help: 'File with the key that is sent as `X-API-Key`. It is read at each request, so that a key can be replaced.',
    defaultText: 'none',
    requires: 'upstream',
  },
  upstreamHeaderFile: {
    type: fileSetting(),
    help: 'File with a JSON object of further headers, such as those of a partner programme. It is read at each request.',
    defaultText: 'none',
    requires: 'upstream',
  },
  upstreamContact: {
    type: plainTextSetting('<contact>', 'a URL or a mail address'),
    help: 'URL or mail address of the operator of this server, for the `User-Agent`.',
    defaultText: 'none',
    requires: 'upstream',
  },
  upstreamReads: {
    type: decimalSetting('<number>', 'a positive number of requests a second'),
    help: 'Reads of the upstream a second, of all books with this host and key together.',
    default: '1.5',
    requires: 'upstream',
  },
  relay: {
    type: enumSetting('direct', 'queue'),
    help: 'Whether a submission waits for the upstream (`direct`), or is stored and sent when that can be reached (`queue`).',
    default: 'direct',
    requires: 'upstream',
  },
  followedOwners: {
    type: addresses(),
    help: 'Owners whose orders are imported from the upstream and kept current.',
    defaultText: 'none',
    requires: 'upstream',
  },
  followedAppData: {
    type: hashes(),
    help: 'Hashes of app data. Orders with it are followed from their first settlement on.',
    defaultText: 'none',
    requires: 'upstream',
  },
}) satisfies SettingTable;
