// The program of a container: it opens a book in a file as soon as no other program has it, submits orders one after
// the other, and prints each step with the times in milliseconds since 1970. SIGTERM closes the book.
import { createOrderBook } from '../../../dist/index.js';
import { sqliteStore } from '../../../dist/sqlite.js';

const [, , path, number] = process.argv;
const PAUSE = 250;
const hex = (value) => `0x${BigInt(value).toString(16).padStart(40, '0')}`;
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const create = () =>
  createOrderBook({
    chainId: 11155111,
    store: sqliteStore({ path }),
    eip1271: 'accept-unverified',
    expiryInterval: 'off',
  });
let isStopping = false;
let book;
process.on('SIGTERM', () => (isStopping = true));

/** Any failure that is not a running writer ends the program. */
async function open() {
  while (!isStopping) {
    book = create();
    try {
      await book.start();
      console.log(`open ${Date.now()}`);
      return;
    } catch (error) {
      if (error.code !== 'WriterActive' && error.code !== 'Unavailable') throw error;
      console.log(`waiting ${error.code}`);
      await sleep(PAUSE);
    }
  }
}

async function submit(n) {
  const order = {
    sellToken: hex(0xe001),
    buyToken: hex(0xe002),
    receiver: null,
    sellAmount: '1000',
    buyAmount: '1000',
    validTo: Math.floor(Date.now() / 1000) + 36_000,
    appData: '{}',
    feeAmount: '0',
    kind: 'sell',
    partiallyFillable: false,
    from: hex(1_000_000 * Number(number) + n),
    signingScheme: 'eip1271',
    signature: '0xabcd',
  };
  const since = Date.now();
  try {
    const result = await book.orders.submit(order);
    if (result.status === 'rejected') throw result.error;
    console.log(result.status === 'accepted' ? `accepted ${result.uid} ${since}` : result.status);
  } catch (error) {
    console.log(`failed ${error.code}`);
    await sleep(PAUSE);
  }
}

await open();
for (let n = 1; !isStopping; n++) {
  await submit(n);
  await sleep(5);
}
await book?.close();
console.log('closed');
