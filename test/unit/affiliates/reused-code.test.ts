import type { Address, Hex, StoredEvent } from 'intentbook';
import { memoryAccountStore } from 'intentbook/memory';
import { expect, test } from 'vitest';
import { createOwnStatistics } from '../../../src/affiliates/own-statistics.ts';
import { manualClock } from '../../support/clock.ts';
import { turns } from '../accounts/accounts-fixture.ts';
import { TERMS } from '../accounts/statistics-fixture.ts';

const address = (byte: string): Address => `0x${byte.repeat(20)}`;
const word = (byte: string, size = 32): Hex => `0x${byte.repeat(size)}`;
const [TRADER, EARLIER, LATER] = [address('aa'), address('bb'), address('cc')];
const UID = word('12', 56);

test('a code that another wallet registers after its deletion has no trades of the earlier wallet', async () => {
  const clock = manualClock();
  const store = memoryAccountStore();
  await store.open({ clock });
  const register = (walletAddress: Address, digest: Hex) =>
    store.affiliates.register({
      walletAddress,
      code: 'PARTNER',
      createdAt: clock.now(),
      digest,
      signedMessage: digest,
    });
  await register(EARLIER, word('01'));

  const position = { blockNumber: 1, blockHash: word('0b'), logIndex: 0, transactionHash: word('0c') };
  const trade = { ordinal: 1, completes: true, sellAmount: '1', buyAmount: '1', feeAmount: '0' };
  const events: StoredEvent[] = [
    { id: 1, type: 'traded', uid: UID, owner: TRADER, at: clock.now(), cause: { position, trade } },
  ];
  const fullAppData = JSON.stringify({ metadata: { referrer: { code: 'PARTNER' } } });
  const order = { uid: UID, owner: TRADER, sellToken: address('e1'), buyToken: address('e2'), fullAppData };
  const book = {
    chainId: 1,
    log: { after: async (id: number) => events.filter((event) => event.id > id), watch: () => () => {} },
    orders: { getMany: async () => [{ order }] },
  };
  const prices: ((value: bigint) => void)[] = [];
  const statistics = createOwnStatistics({
    books: [{ book: book as never, env: 'production', feed: 'log 1' }], // the members that statistics read
    store,
    getTerms: () => TERMS,
    payouts: undefined,
    tokens: () => undefined,
    value: () => new Promise((resolve) => prices.push(resolve)),
    clock,
    onFailure: (failure) => {
      throw failure;
    },
  });
  statistics.start();
  await turns(() => prices.length === 1);

  // The account is forgotten while its trade waits for a price.
  expect((await store.forget(EARLIER)).affiliate).toBe('deleted');
  for (const resolve of prices) resolve(5_000_000_000n);
  const { signal } = new AbortController();
  const read = (wallet: Address) => statistics.affiliate(wallet, { signal });
  await register(LATER, word('02'));
  await turns(async () => (await read(LATER).catch(() => undefined)) !== undefined);
  expect(await read(LATER)).toMatchObject({ total_volume: 0, total_traders: 0, total_earned: 0 });
  await statistics.stop();
  await store.close();
});
