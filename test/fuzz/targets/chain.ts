import assert from 'node:assert/strict';
import { parseCompetition } from '../../../src/auctions/competition.ts';
import { SETTLE_SELECTOR } from '../../../src/protocol/chains.ts';
import type { ChainLog } from '../../../src/protocol/event-decoder.ts';
import { decodeLog } from '../../../src/protocol/event-decoder.ts';
import { parseHex } from '../../../src/protocol/hex.ts';
import { decodeSettle } from '../../../src/protocol/settle-calldata.ts';
import type { Target } from '../target.ts';
import { isRejection, JSON_MARKS, textOf } from '../target.ts';

const word = (value: bigint | number) => BigInt(value).toString(16).padStart(64, '0');

/** Two tokens, two prices, one trade, no interactions. */
const SETTLE = [
  SETTLE_SELECTOR,
  word(0x80),
  word(0xe0),
  word(0x140),
  word(0x360),
  word(2),
  word(0xaa),
  word(0xbb),
  word(2),
  word(3),
  word(5),
  word(1),
  word(0x20),
  word(0),
  word(1),
  word(0xcc),
  word(1000),
  word(400),
  word(1767226200),
  word(0),
  word(0),
  word(0),
  word(1000),
  word(0x160),
  word(0),
  word(0x60),
  word(0x80),
  word(0xa0),
  word(0),
  word(0),
  word(0),
].join('');

const calldata: Target = {
  name: 'settle-calldata',
  words: [
    ...[0, 1, 2, 0x20, 0x40, 0x80, 0xe0, 2 ** 32, 2 ** 53].map(word),
    'f'.repeat(64),
    '00000000075bcd15',
    SETTLE_SELECTOR,
  ],
  seeds: [SETTLE, `${SETTLE}00000000075bcd15`, SETTLE_SELECTOR],
  run(bytes) {
    const text = textOf(bytes);
    // The transport rejects text that is not hexadecimal.
    if (parseHex(text) !== text) return 'not hex';
    const call = decodeSettle(text);
    for (const trade of call?.trades ?? []) {
      assert.match(trade.sellToken, /^0x[0-9a-f]{40}$/);
      assert.match(trade.buyToken, /^0x[0-9a-f]{40}$/);
    }
    return call;
  },
};

const log: Target = {
  name: 'chain-log',
  words: [
    ...[0, 1, 0x20, 0x40, 0x60, 0xc0, 56, 2 ** 32].map(word),
    'f'.repeat(64),
    '","',
    '["',
    '"]',
    '"topics"',
    '"data"',
    '"address"',
    '0x',
  ],
  seeds: [
    'a07a543ab8a018198e99ca0184c93fe9050a79400a0a723441f84de1d972cc17',
    'd78ad95fa46c994b6551d0da85fc275fe613ce37657fb8d5e3d130840159d822',
    '40338ce1a7c49204f0099533b1e9a7ee0a3d261f84974ab7af36105b8c4e9db4',
    '875b6cb035bbd4ac6500fabc6d1e4ca5bdc58a3e2b424ccb5c24cdbebeb009a9',
  ].map((topic) =>
    JSON.stringify({
      address: `0x${'9c'.repeat(20)}`,
      topics: [`0x${topic}`, `0x${word(0xabcd)}`],
      data: `0x${[0x20, 0x60, 5, 7, 0, 0xc0, 56, 0, 0, 0, 0, 0].map(word).join('')}`,
    }),
  ),
  run(bytes) {
    let given: unknown;
    try {
      given = JSON.parse(textOf(bytes));
    } catch {
      return 'not JSON';
    }
    if (!isLog(given)) return 'no log';
    return decodeLog(given);
  },
};

/** Values that the transport has already validated as hexadecimal. */
function isLog(value: unknown): value is ChainLog {
  if (typeof value !== 'object' || value === null) return false;
  const { address, topics, data } = value as Record<string, unknown>;
  const isHex = (text: unknown, size?: number) => text !== undefined && parseHex(text, size) === text;
  return isHex(address, 20) && isHex(data) && Array.isArray(topics) && topics.every((topic) => isHex(topic, 32));
}

const competition: Target = {
  name: 'competition',
  words: [...JSON_MARKS, '"1"', '1', '-1', '1e99', '"__proto__"', `"0x${'ab'.repeat(56)}"`, `"0x${'ab'.repeat(20)}"`],
  seeds: [
    JSON.stringify({
      auctionId: 7,
      auctionStartBlock: 5,
      auctionDeadlineBlock: 9,
      transactionHashes: [`0x${'ab'.repeat(32)}`],
      referenceScores: {},
      auction: { orders: [`0x${'ab'.repeat(56)}`], prices: { [`0x${'ab'.repeat(20)}`]: '5' } },
      solutions: [
        {
          solverAddress: `0x${'ab'.repeat(20)}`,
          score: '5',
          ranking: 1,
          clearingPrices: {},
          isWinner: true,
          orders: [{ id: `0x${'ab'.repeat(56)}`, sellAmount: '5', buyAmount: '5' }],
          filteredOut: false,
        },
      ],
    }),
  ],
  run(bytes) {
    let given: unknown;
    try {
      given = JSON.parse(textOf(bytes));
    } catch {
      return 'not JSON';
    }
    const parsed = parseCompetition(given);
    if (isRejection(parsed)) return parsed;
    assert.deepEqual(parseCompetition(JSON.parse(JSON.stringify(parsed))), parsed);
    return parsed;
  },
};

export const CHAIN_TARGETS: readonly Target[] = [calldata, log, competition];
