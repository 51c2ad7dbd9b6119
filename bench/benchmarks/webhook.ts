import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { createOrderBook, type Hex } from 'intentbook';
import { createAccounts } from 'intentbook/accounts';
import { webhookChannel } from 'intentbook/channels';
import { accountDomain, subscriptionTypedData } from 'intentbook/sign';
import { sqliteAccountStore, sqliteStore } from 'intentbook/sqlite';
import { bytesToHex } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import type { CreateBenchmark } from '../benchmark.ts';
import { quantile, readMeasured } from '../benchmark.ts';
import { scratchFile } from '../files.ts';
import { CHAIN_ID, COW, hashText, OWNERS, type Signed, signOrders, WETH } from '../orders.ts';
import { runAtRate } from '../stats.ts';

const SOLVER = `0x${'50'.repeat(20)}` as const;

/** Milliseconds between two blocks, and the fills of each: 100 fills a second. */
const INTERVAL = 100;
const FILLS = 10;

type Accepted = Signed & { readonly uid: Hex };

/** Waits from the block of a fill until its webhook has arrived. Each owner has a webhook. */
export const benchmark: CreateBenchmark = ({ tiny }) => ({
  title: 'webhooks of 100 fills a second',
  rounds: 7,
  subjects: {
    async webhook() {
      const arrivals = new Map<string, () => void>();
      const receiver = createServer(async (request, response) => {
        const body = await text(request);
        const [uid = ''] = /0x[0-9a-f]{112}/.exec(body) ?? [];
        response.end(body); // echoes the challenge of a new subscription
        arrivals.get(uid)?.();
      });
      await once(receiver.listen(0, '127.0.0.1'), 'listening');
      const { port } = receiver.address() as AddressInfo; // a server that listens on a port
      const book = createOrderBook({ chainId: CHAIN_ID, store: sqliteStore({ path: scratchFile('webhook') }) });
      const accounts = createAccounts({
        books: [book],
        store: sqliteAccountStore({ path: scratchFile('webhook-accounts') }),
        channels: [webhookChannel({ allow: ['127.0.0.1/32'] })],
      });
      await book.start();
      await accounts.start();
      for (let i = 0; i < OWNERS; i++) {
        const owner = privateKeyToAccount(bytesToHex(hashText(`intentbook bench owner ${i}`)));
        const terms = { channel: 'webhook', target: `http://127.0.0.1:${port}/${i}`, types: ['order_filled'] } as const;
        const [nonce, deadline] = [String(i), Math.floor(Date.now() / 1000) + 60];
        const message = { account: owner.address, ...terms, nonce, deadline };
        const signature = await owner.signTypedData(subscriptionTypedData(accountDomain(), message));
        await accounts.subscriptions.create(owner.address, { ...terms, nonce, deadline, signature });
      }
      let block = 0;
      let first = 0;

      async function fill(orders: readonly Accepted[], waits: number[]): Promise<void> {
        const number = ++block;
        const hash: Hex = `0x${number.toString(16).padStart(64, '0')}`;
        const position = { blockNumber: number, blockHash: hash, transactionHash: hash };
        const timestamp = Math.floor(Date.now() / 1000);
        const start = performance.now();
        const arrived = orders.map(
          ({ uid }) =>
            new Promise<void>((resolve) => {
              arrivals.set(uid, () => {
                arrivals.delete(uid);
                waits.push(performance.now() - start);
                resolve();
              });
            }),
        );
        const events = orders.map(({ uid, owner, order: { sellAmount, buyAmount } }, logIndex) => ({
          ...position,
          timestamp,
          logIndex,
          event: 'Trade' as const,
          owner,
          sellToken: WETH,
          buyToken: COW,
          sellAmount: BigInt(sellAmount),
          buyAmount: BigInt(buyAmount),
          feeAmount: 0n,
          orderUid: uid,
        }));
        const settlement = {
          ...position,
          timestamp,
          logIndex: events.length,
          event: 'Settlement' as const,
          solver: SOLVER,
        };
        const outcome = await book.chain.apply({ events: [...events, settlement], through: { number, hash } });
        if (outcome.status !== 'applied') throw new Error(`the block must be applied, got ${outcome.status}`);
        await Promise.all(arrived);
      }

      return {
        note: `SQLite, ${OWNERS} webhooks on one host`,
        async round() {
          const blocks = tiny ? 1 : 20;
          const signed = await signOrders('webhook', first, blocks * FILLS);
          first += signed.length;
          const results = await book.orders.submitMany(signed.map(({ order }) => order));
          const accepted = signed.map((each, i): Accepted => {
            const result = results[i];
            if (result?.status !== 'accepted') throw new Error('an order was rejected');
            return { ...each, uid: result.uid };
          });
          const waits: number[] = [];
          await runAtRate(blocks, INTERVAL, (i) => fill(accepted.slice(i * FILLS, (i + 1) * FILLS), waits));
          return {
            time: quantile(waits, 0.5) * 1000,
            'ms at p50': quantile(waits, 0.5),
            'ms at p99': quantile(waits, 0.99),
          };
        },
        async close() {
          await accounts.close();
          await book.close();
          receiver.closeAllConnections();
          receiver.close();
        },
      };
    },
  },
  measures: [
    {
      title: 'trade to webhook, median',
      compute: readMeasured('webhook', 'ms at p50'),
      unit: ' ms',
      target: { atMost: 20 },
      reason: 'A webhook is a request on a new or kept connection, after two commits.',
    },
    {
      title: 'the same, 99th percentile',
      compute: readMeasured('webhook', 'ms at p99'),
      unit: ' ms',
      target: { atMost: 100 },
    },
  ],
});
