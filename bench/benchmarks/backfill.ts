import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { createOrderBook } from 'intentbook';
import { sqliteStore } from 'intentbook/sqlite';
import { viemSource } from 'intentbook/viem';
import { decodeEventLog, encodeAbiParameters, encodeEventTopics, keccak256, numberToHex, padHex, parseAbi } from 'viem';
import type { CreateBenchmark, Subject } from '../benchmark.ts';
import { divideTimes } from '../benchmark.ts';
import { CHAIN_ID, DOMAIN } from '../orders.ts';

const ABI = parseAbi([
  'event Trade(address indexed owner, address sellToken, address buyToken, uint256 sellAmount, uint256 buyAmount, uint256 feeAmount, bytes orderUid)',
]);
const TYPES = ['address', 'address', 'uint256', 'uint256', 'uint256', 'bytes'].map((type) => ({ type }));
const BLOCKS = 1000;
const HEAD = BLOCKS + 64;

type Log = ReturnType<typeof createLog>;

/** Creates the log of a trade of an unknown order, in the format of a node. */
function createLog(i: number, perBlock: number) {
  const owner = numberToHex(1 + (i % 5000), { size: 20 });
  const uid = `${keccak256(numberToHex(i))}${owner.slice(2)}ffffffff` as const;
  const [sellToken, buyToken] = [numberToHex(7, { size: 20 }), numberToHex(8, { size: 20 })];
  const block = 1 + Math.floor(i / perBlock);
  return {
    address: DOMAIN.settlementContract,
    topics: encodeEventTopics({ abi: ABI, args: { owner } }),
    data: encodeAbiParameters(TYPES, [sellToken, buyToken, 10n ** 18n, 3n * 10n ** 18n, 0n, uid]),
    blockNumber: numberToHex(block),
    blockHash: padHex(numberToHex(block), { size: 32 }),
    blockTimestamp: '0x65',
    transactionHash: keccak256(numberToHex(i)),
    logIndex: numberToHex(i % perBlock),
  };
}

/** Creates a scripted node whose first blocks contain the trades. */
function createScriptedNode(logs: readonly Log[], perBlock: number) {
  const block = (number: number) => ({
    number: numberToHex(number),
    hash: padHex(numberToHex(number), { size: 32 }),
    timestamp: '0x65',
    parentHash: padHex(numberToHex(Math.max(0, number - 1)), { size: 32 }),
  });
  return {
    async request({ method, params }: { method: string; params?: unknown }): Promise<unknown> {
      const [first] = params as readonly unknown[];
      switch (method) {
        case 'eth_chainId':
          return numberToHex(CHAIN_ID);
        case 'eth_getCode':
          return '0x01';
        case 'eth_getBlockByNumber':
          return block(first === 'latest' ? HEAD : Number(first));
        case 'eth_getLogs': {
          const { fromBlock, toBlock, blockHash } = first as Readonly<Record<string, string>>; // a filter
          const [from, to] = [Number(fromBlock ?? blockHash), Number(toBlock ?? blockHash)];
          return logs.slice((from - 1) * perBlock, to * perBlock);
        }
        default:
          throw new Error(`unexpected method ${method}`);
      }
    },
  };
}

function assertTrades(path: string, table: string, count: number): void {
  const database = new Database(path, { readonly: true });
  const found = database.prepare(`SELECT count(DISTINCT uid) FROM ${table}`).pluck().get();
  database.close();
  if (found !== count) throw new Error(`${table} must contain ${count} trades, got ${found}`);
}

/**
 * Trades of old blocks, read from a node and stored. The subject is a book with an indexer, including all effects of
 * the trades. The peer is viem's decoding and an insert of the same columns.
 */
export const benchmark: CreateBenchmark = ({ tiny }) => {
  const perBlock = tiny ? 1 : 100;
  const count = BLOCKS * perBlock;
  const createLogs = () => Array.from({ length: count }, (_, i) => createLog(i, perBlock));
  const createFolder = () => mkdtempSync(join(tmpdir(), 'intentbook-backfill-'));

  return {
    title: `backfill of ${count} trades into SQLite`,
    rounds: tiny ? 1 : 5,
    subjects: {
      intentbook: async (): Promise<Subject> => {
        const node = createScriptedNode(createLogs(), perBlock);
        return {
          async round() {
            const folder = createFolder();
            const book = createOrderBook({
              chainId: CHAIN_ID,
              store: sqliteStore({ path: join(folder, 'book.sqlite') }),
              indexer: { sources: [viemSource(node)], fromBlock: 1, onchainOrderContracts: [] },
            });
            const start = performance.now();
            const done = new Promise<number>((resolve) => {
              book.on('chainProgress', (each) => {
                if (each.type === 'progress' && each.block >= BLOCKS) resolve(performance.now());
              });
            });
            await book.start();
            const time = (((await done) - start) * 1000) / count;
            await book.close();
            assertTrades(join(folder, 'book.sqlite'), 'chain_events', count);
            rmSync(folder, { recursive: true });
            return { time };
          },
        };
      },
      'viem and bulk insert': async (): Promise<Subject> => {
        const node = createScriptedNode(createLogs(), perBlock);
        return {
          async round() {
            const folder = createFolder();
            const database = new Database(join(folder, 'bare.sqlite'));
            database.pragma('journal_mode = WAL');
            database.pragma('synchronous = FULL');
            database.exec(
              'CREATE TABLE trades (block INTEGER, log INTEGER, block_hash BLOB, transaction_hash BLOB, uid BLOB, ' +
                'owner BLOB, sell_token TEXT, buy_token TEXT, sell_amount TEXT, buy_amount TEXT, fee_amount TEXT, ' +
                'PRIMARY KEY (block, log)) WITHOUT ROWID; CREATE INDEX trades_uid ON trades (uid); ' +
                'CREATE INDEX trades_owner ON trades (owner)',
            );
            const insert = database.prepare('INSERT INTO trades VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)');
            const bytes = (hex: string) => Buffer.from(hex.slice(2), 'hex');
            const store = database.transaction((batch: readonly Log[]) => {
              for (const { topics, data, blockNumber, logIndex, blockHash, transactionHash } of batch) {
                const { args } = decodeEventLog({ abi: ABI, topics: topics as never, data }); // encoded by createLog
                insert.run(
                  Number(blockNumber),
                  Number(logIndex),
                  bytes(blockHash),
                  bytes(transactionHash),
                  bytes(args.orderUid),
                  bytes(args.owner),
                  args.sellToken,
                  args.buyToken,
                  String(args.sellAmount),
                  String(args.buyAmount),
                  String(args.feeAmount),
                );
              }
            });
            const start = performance.now();
            const BATCH = 20;
            for (let from = 1; from <= BLOCKS; from += BATCH) {
              const [fromBlock, toBlock] = [numberToHex(from), numberToHex(from + BATCH - 1)];
              const params = [{ fromBlock, toBlock }];
              store((await node.request({ method: 'eth_getLogs', params })) as readonly Log[]); // the scripted logs
            }
            const time = ((performance.now() - start) * 1000) / count;
            database.close();
            assertTrades(join(folder, 'bare.sqlite'), 'trades', count);
            rmSync(folder, { recursive: true });
            return { time };
          },
        };
      },
    },
    measures: [
      {
        title: 'backfill ÷ viem decoding and bulk insert',
        compute: divideTimes('intentbook', 'viem and bulk insert'),
        target: { atMost: 0.8 },
        reason: 'Each trade is also applied to its order: totals, state, and an entry of the log.',
      },
    ],
  };
};
