import { createApi, createOrderBook } from 'intentbook';
import { beginSqliteLogEpoch, sqliteStore } from 'intentbook/sqlite';
import { expect, test } from 'vitest';
import { ALICE, DAI, USDC } from '../../conformance/orders.ts';
import { SEPOLIA } from '../../support/orders.ts';
import { temporaryFile } from '../stores/temporary.ts';

test('debug report shows the entries of an order before a new log epoch', async () => {
  using file = temporaryFile();
  const open = async () => {
    const book = createOrderBook({ chainId: SEPOLIA, store: sqliteStore({ path: file.path }) });
    await book.start();
    return book;
  };
  const submit = async (book: Awaited<ReturnType<typeof open>>, sellAmount: string) => {
    const validTo = Math.floor(Date.now() / 1000) + 3_600;
    const amounts = { sellAmount, buyAmount: '1', feeAmount: '0', validTo, partiallyFillable: false };
    const common = { sellToken: DAI, buyToken: USDC, receiver: null, appData: '{}', kind: 'sell' } as const;
    const signature = { signingScheme: 'presign', signature: '0x', from: ALICE } as const;
    const result = await book.orders.submit({ ...common, ...amounts, ...signature });
    if (result.status !== 'accepted') throw new Error('the order was rejected');
    return result.uid;
  };
  const before = await open();
  const uid = await submit(before, '1000');
  await before.close();
  await beginSqliteLogEpoch({ path: file.path });
  const book = await open();
  await submit(book, '2000');
  const response = await createApi(book, { operatorToken: 'secret' }).handle({
    method: 'GET',
    path: `/restricted/api/v1/debug/order/${uid}`,
    query: '',
    header: (name) => (name === 'authorization' ? 'Bearer secret' : undefined),
    body: { type: 'none' },
  });
  expect(JSON.parse(String(response.body))).toMatchObject({
    events: [{ label: 'created' }],
    searchedEntries: 2,
    isComplete: true,
  });
  await book.close();
});
