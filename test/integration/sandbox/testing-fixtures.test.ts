import { createOrderBook } from 'intentbook';
import { memoryStore } from 'intentbook/memory';
import { createOrderFactory, manualClock, scriptedChain, UNLIMITED_FUNDS } from 'intentbook/testing';
import { expect, it } from 'vitest';

it('intentbook/testing: a factory, a clock and a chain drive a book without a node', async () => {
  const clock = manualClock();
  const chain = scriptedChain({ balanceAndAllowance: UNLIMITED_FUNDS });
  await using book = createOrderBook({ chainId: 11155111, store: memoryStore(), chain, clock });
  await book.start();
  const factory = await createOrderFactory(book);
  for (const signingScheme of ['eip712', 'ethsign', 'presign'] as const) {
    const result = await book.orders.submit(factory.order({ signingScheme, signer: 7 }));
    if (result.status === 'rejected') throw result.error;
    expect(await book.orders.get(result.uid)).toMatchObject({ owner: factory.address(7) });
  }
  // A presigned order is not checked for funds.
  expect(chain.queries.map(({ name }) => name)).toContain('balanceAndAllowance');
  clock.advance(1801_000);
  const { orders } = await book.orders.list({ owner: factory.address(7) });
  expect(orders.map(({ status }) => status)).toEqual(['expired', 'expired', 'expired']);
});

it('intentbook/testing: a scripted chain throws, or never returns', async () => {
  const failing = scriptedChain({ balanceAndAllowance: new Error('no connection') });
  await using book = createOrderBook({ chainId: 11155111, store: memoryStore(), chain: failing, checkTimeout: 50 });
  await book.start();
  const factory = await createOrderFactory(book);
  expect(await book.orders.submit(factory.order())).toMatchObject({ error: { code: 'ChainUnavailable' } });
  const silent = scriptedChain({ balanceAndAllowance: 'never' });
  await using other = createOrderBook({ chainId: 11155111, store: memoryStore(), chain: silent, checkTimeout: 50 });
  await other.start();
  expect(await other.orders.submit(factory.order())).toMatchObject({ error: { code: 'ChainUnavailable' } });
});
