import assert from 'node:assert/strict';
import { appendFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { createOrderBook } from 'intentbook';
import { storeConformance } from 'intentbook/testing';
import { fileStore } from './file-store.js';

const cases = storeConformance({
  traits: fileStore('').traits,
  async create() {
    const folder = await mkdtemp(join(tmpdir(), 'file-store-'));
    return {
      connect: () => fileStore(join(folder, 'orders.log')),
      dispose: () => rm(folder, { recursive: true }),
    };
  },
});
for (const { group, name, skip, run } of cases) test(`${group}: ${name}`, { skip }, run);

test('changes after a line that was not complete are kept', async (context) => {
  const folder = await mkdtemp(join(tmpdir(), 'file-store-'));
  context.after(() => rm(folder, { recursive: true }));
  const path = join(folder, 'orders.log');
  const put = async (fullAppData) => {
    const book = createOrderBook({ chainId: 11155111, store: fileStore(path) });
    await book.start();
    const result = await book.appData.put(fullAppData);
    await book.close();
    return result.hash;
  };
  const first = await put('{"n":1}');
  await appendFile(path, '/w8PIgh'); // the process died while it wrote
  const second = await put('{"n":2}');
  const book = createOrderBook({ chainId: 11155111, store: fileStore(path) });
  await book.start();
  assert.deepEqual([await book.appData.get(first), await book.appData.get(second)], ['{"n":1}', '{"n":2}']);
  await book.close();
});
