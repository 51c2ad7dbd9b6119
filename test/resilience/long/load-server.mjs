// The server of the suite `load`: a book of 120,000 orders and 30,000 trades with the default limits, on 127.0.0.1. It
// prints its port and runs until its standard input ends.
import { createServer } from 'node:http';
import { createApi, createOrderBook, systemClock, tokenBuckets } from '../../../dist/index.js';
import { nodeHandler } from '../../../dist/node-http.js';
import { sqliteStore } from '../../../dist/sqlite.js';

const [, , path, orderCount, tradeCount] = process.argv;
const [ORDERS, TRADES] = [Number(orderCount), Number(tradeCount)];
const BATCH = 500;
const VALID_TO = 4_000_000_000;
const domain = { chainId: 11155111, settlementContract: `0x${'90'.repeat(20)}` };

const hex = (n, bytes) => `0x${n.toString(16).padStart(2 * bytes, '0')}`;
/** One owner has a quarter of the orders. */
const getOwner = (n) => hex(n % 4 === 0 ? 0xa11ce : 0xb000 + (n % 5000), 20);
const getUid = (n) => `${hex(n + 1, 32)}${getOwner(n).slice(2)}${VALID_TO.toString(16)}`;
const getToken = (n) => hex(0xe000 + (n % 20), 20);

function createOrder(n) {
  const [uid, owner, sellToken, buyToken] = [getUid(n), getOwner(n), getToken(n), getToken(n + 7)];
  const creationDate = 1_700_000_000_000 + 20 * n;
  const appData = hex(0, 32);
  const amounts = { sellAmount: `${10 ** 12 + n}`, buyAmount: '1000' };
  const balances = { sellTokenBalance: 'erc20', buyTokenBalance: 'erc20' };
  const body = JSON.stringify({
    uid,
    sellToken,
    buyToken,
    receiver: null,
    ...amounts,
    validTo: VALID_TO,
    appData,
    feeAmount: '0',
    kind: 'sell',
    partiallyFillable: true,
    ...balances,
    signingScheme: 'eip712',
    signature: `0x${'5a'.repeat(65)}`,
    owner,
    creationDate: new Date(creationDate).toISOString(),
    class: 'limit',
    isLiquidityOrder: false,
    settlementContract: domain.settlementContract,
    interactions: { pre: [], post: [] },
    availableBalance: null,
  });
  const terms = { uid, owner, creationDate, sellToken, buyToken, signingScheme: 'eip712', validTo: VALID_TO };
  return { order: { ...terms, state: 'open', quotaClass: 'open', appData, body } };
}

/** Trades of the orders of one owner, 50 in a block. */
function createTrade(n) {
  const order = 4 * (n % (ORDERS / 4));
  const blockNumber = 10 + Math.floor(n / 50);
  const position = { blockNumber, blockHash: hex(blockNumber, 32), logIndex: n % 50, transactionHash: hex(n + 1, 32) };
  const tokens = { sellToken: getToken(order), buyToken: getToken(order + 7) };
  const prices = { sellToken: `${10 ** 18}`, buyToken: `${10 ** 18}` };
  const amounts = { sellAmount: '10', buyAmount: '20', feeAmount: '0', executedFee: '1', prices, protocolFees: [] };
  return {
    type: 'trade',
    ...position,
    timestamp: null,
    uid: getUid(order),
    owner: getOwner(order),
    ...tokens,
    ...amounts,
  };
}

const fill = sqliteStore({ path, synchronous: 'OFF' });
await fill.open({ domain, clock: systemClock });
for (let i = 0; i < ORDERS; i += BATCH) {
  await fill.orders.insert(Array.from({ length: Math.min(BATCH, ORDERS - i) }, (_, n) => createOrder(i + n)));
}
for (let i = 0; i < TRADES; i += BATCH) {
  const events = Array.from({ length: Math.min(BATCH, TRADES - i) }, (_, n) => createTrade(i + n));
  const { blockNumber: number, blockHash: hash } = events.at(-1);
  const known = { events, blocks: [], forgetBelow: number - 10, at: 1_700_000_000_000 };
  await fill.chain.apply({ ...known, through: { number, hash } });
}
await fill.close();

const book = createOrderBook({ ...domain, store: sqliteStore({ path }) });
book.on('failure', (failure) => console.error(failure));
await book.start();
const api = createApi(book, { limiter: tokenBuckets(), probes: true });
const last = await book.log.last();
const server = createServer(nodeHandler(api)).listen(0, '127.0.0.1', () => {
  console.log(JSON.stringify({ port: server.address().port, last }));
});
process.stdin.resume().on('end', () => process.exit(0));
