// Process of the lease tests: opens a store, prints a line and runs until it is killed.

import type { Address } from 'intentbook';
import { systemClock } from 'intentbook';
import { sqliteStore } from 'intentbook/sqlite';

const [path = '', chainId, settlementContract] = process.argv.slice(2);

sqliteStore({ path })
  .open({
    domain: { chainId: Number(chainId), settlementContract: settlementContract as Address }, // passed by the test
    clock: systemClock,
  })
  .then(
    () => process.send?.('open'),
    (error: unknown) => process.send?.(String(error)),
  );

process.on('disconnect', () => process.exit());
