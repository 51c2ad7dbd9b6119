import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { orderOf } from '../unit/orders/admission-fixture.ts';

test('a book is closed before the process ends, also if a function of the application never answers', async () => {
  const order = await orderOf({ validTo: Math.floor(Date.now() / 1000) + 600 });
  const script = `
    import { createOrderBook } from './dist/index.js';
    import { memoryStore } from './dist/memory.js';
    const isDenied = () => new Promise(() => {});
    const book = createOrderBook({ chainId: 11155111, store: memoryStore(), isDenied, checkTimeout: 100 });
    await book.start();
    void book.orders.submit(${JSON.stringify(order)}).then(({ status }) => console.log(status));
    await book.close();
    console.log('closed');`;
  const cwd = new URL('../..', import.meta.url);
  const { stdout, stderr, status } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
    cwd,
    timeout: 60_000,
  });
  expect([String(stdout).split('\n').sort(), String(stderr), status]).toEqual([['', 'closed', 'rejected'], '', 0]);
});
