import type { StoreObservation } from 'intentbook';
import { createAccountStore } from 'intentbook/store-kit';
import { describe, expect, test } from 'vitest';
import { manualClock } from '../../support/clock.ts';

type Definition = Parameters<typeof createAccountStore>[1];
type Operations = Awaited<ReturnType<Definition['start']>>;

/** Creates a store with these operations on affiliates only. */
function createTestStore(affiliates: Partial<Operations['affiliates']>) {
  const steps: string[] = [];
  const operations = { affiliates, close: () => void steps.push('closed') } as unknown as Operations; // the called ones
  const store = createAccountStore(
    { name: 'test', durable: false, writers: 'single' },
    { name: 'test store', inUse: 'the test store is in use', start: async () => operations },
  );
  return { store, steps };
}

describe('store of a definition', () => {
  test('rejects operations before it is opened and after it is closed', async () => {
    const { store } = createTestStore({ byCode: () => undefined });
    const closed = { name: 'StoreError', code: 'Closed', message: 'the test store is not open' };
    await expect(store.affiliates.byCode('A')).rejects.toMatchObject(closed);
    await store.open({ clock: manualClock() });
    expect(await store.affiliates.byCode('A')).toBeUndefined();
    await expect(store.open({ clock: manualClock() })).rejects.toMatchObject({ code: 'WriterActive' });
    await store.close();
    await expect(store.affiliates.byCode('A')).rejects.toMatchObject(closed);
  });

  test('waits for running operations when it is closed', async () => {
    let finish = () => {};
    const result = new Promise<undefined>((resolve) => {
      finish = () => resolve(undefined);
    });
    const { store, steps } = createTestStore({ byCode: () => result });
    await store.open({ clock: manualClock() });
    const read = store.affiliates.byCode('A').then(() => steps.push('read'));
    const close = store.close();
    finish();
    await Promise.all([read, close]);
    expect(steps).toEqual(['read', 'closed']);
  });

  test('passes the duration and the failure of each operation to the observer, if it has listeners', async () => {
    const clock = manualClock();
    const observations: StoreObservation[] = [];
    let isObserved = false;
    const observer = {
      hasListeners: () => isObserved,
      notify: (observation: StoreObservation) => void observations.push(observation),
    };
    const { store } = createTestStore({
      byCode: () => void clock.advance(5) as undefined,
      async byWallet() {
        clock.advance(7);
        throw new Error('no storage');
      },
    });
    const context = { clock, observer };
    await store.open(context);
    await store.affiliates.byCode('A');
    isObserved = true;
    await store.affiliates.byCode('A');
    await expect(store.affiliates.byWallet(`0x${'00'.repeat(20)}`)).rejects.toThrow('no storage');
    expect(observations).toEqual([
      { operation: 'affiliates.byCode', ms: 5, failed: false },
      { operation: 'affiliates.byWallet', ms: 7, failed: true },
    ]);
  });
});
