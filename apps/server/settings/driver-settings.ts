import { inGroup, type SettingTable } from './setting.ts';
import { httpUrls, integerSetting, onOffAlone } from './types.ts';

export const DRIVER_SETTINGS = {
  ...inGroup('Orders', {
    drivers: {
      type: httpUrls(),
      help: 'URLs of the drivers of solvers that the server runs auctions with. Without drivers it runs none.',
      secret: true,
    },
    solveTime: {
      type: integerSetting(1, 600_000, '<ms>'),
      help: 'Time that drivers have to solve an auction, in milliseconds.',
      default: 10_000,
      requires: 'drivers',
    },
    compressAuctions: {
      type: onOffAlone(),
      help: 'Whether auctions are sent to drivers with Brotli, which all of them must accept.',
      default: false,
      requires: 'drivers',
    },
    auctionDeltas: {
      type: onOffAlone(),
      help: 'Whether drivers receive auctions as differences (kind: delta), which all of them must accept.',
      default: false,
      requires: 'drivers',
    },
    submissionBlocks: {
      type: integerSetting(1, 10_000, '<number>'),
      help: 'Blocks in which the winner of an auction may be settled.',
      default: 5,
      requires: 'drivers',
    },
    driverBanAfter: {
      type: integerSetting(1, 1_000_000, '<number>'),
      help: 'Consecutive auctions that a driver wins and does not settle, after which it is excluded and notified.',
      defaultText: 'never',
      requires: 'drivers',
    },
    driverBanTime: {
      type: integerSetting(1, 86_400, '<seconds>'),
      help: 'Time for which such a driver is excluded, in seconds.',
      default: 300,
      requires: 'drivers',
    },
  }),
  ...inGroup('Quotes', {
    quoteDrivers: { type: httpUrls(), help: 'URLs of drivers for quotes.', secret: true },
  }),
} as const satisfies SettingTable;
