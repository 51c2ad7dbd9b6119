import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { QuoteResponse } from 'intentbook';
import { serve } from 'intentbook/server';
import { afterAll, describe, expect, test } from 'vitest';
import { createVolumeFee, readFees } from '../../../apps/server/books/fee-policies.ts';
import { account, signOrder } from '../../support/orders.ts';
import { cleanUp, scratch } from './process.ts';

afterAll(cleanUp);

const WETH = '0xfff9976782d46cc05630d1f6ebab18b2324d6b14';
const COW = '0x0625afb445c3b6b7b929342a04a22599fd5dbb59';
const USDC = '0xbe72e441bf55620febc26715db68d3494213d8cb';
const NATIVE = '0xeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee';

async function written(content: unknown): Promise<string> {
  const file = join(await scratch(), 'fees.json');
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content));
  return file;
}

const POLICIES = {
  protocolFees: [
    { kind: 'volume', factor: 200, buckets: [{ tokens: [WETH, USDC.toUpperCase().replace('X', 'x')], factor: 50 }] },
    { kind: 'surplus', factor: 500_000, maxVolumeFactor: 9800, orders: 'outOfMarket' },
  ],
} as const;

describe('fee policies of the server', () => {
  test('are quoted and shown in auctions', async () => {
    const server = await serve({ port: 0, db: ':memory:', feePolicies: await written(POLICIES) });
    const quote = async (buyToken: string) => {
      const response = await fetch(`${server.url}/api/v1/quote`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({
          sellToken: WETH,
          buyToken,
          from: account(1).address,
          kind: 'sell',
          sellAmountBeforeFee: String(10n ** 18n),
        }),
      });
      return (await response.json()) as QuoteResponse; // the body of this route
    };
    expect([(await quote(COW)).protocolFeeBps, (await quote(USDC)).protocolFeeBps]).toEqual(['2', '0.5']);
    const validTo = Math.floor(Date.now() / 1000) + 3600;
    await server.book.orders.submit(
      await signOrder(account(1), { validTo, sellToken: WETH, buyToken: COW, sellAmount: '1000', buyAmount: '1' }),
    );
    const { orders } = await server.book.auctions.current();
    expect(orders.map(({ protocolFees }) => protocolFees)).toEqual([
      [{ volume: { factor: 0.0002 } }, { surplus: { factor: 0.5, maxVolumeFactor: 0.0098 } }],
    ]);
    await server.close();
  });

  test('change at the time of the upcoming fees', async () => {
    const from = '2027-01-01T00:00:00Z';
    const upcoming = { from, protocolFees: [{ kind: 'volume', factor: 700, orders: 'inMarket' }] } as const;
    const fees = await readFees({ feePolicies: { ...POLICIES, upcomingFees: upcoming } });
    expect(fees.upcomingFees).toEqual({ ...upcoming, from: Date.parse(from) / 1000 });
    let now = Date.parse(from) - 1;
    const volumeFee = createVolumeFee(fees, WETH, { now: () => now });
    expect([volumeFee?.(WETH, COW), volumeFee?.(WETH, USDC)]).toEqual([200, 50]);
    now++;
    expect([volumeFee?.(WETH, COW), volumeFee?.(WETH, USDC)]).toEqual([700, 700]);
    expect([volumeFee?.(COW, COW), volumeFee?.(WETH, NATIVE)]).toEqual([undefined, undefined]);
  });

  test('are quoted for equal tokens on request, and with a factor of 0', async () => {
    const buckets = [{ tokens: [WETH, COW], factor: 0 }];
    const policies = [{ kind: 'volume', factor: 200, buckets, equalTokens: true }] as const;
    const volumeFee = createVolumeFee(await readFees({ feePolicies: { protocolFees: policies } }), WETH);
    expect([volumeFee?.(WETH, COW), volumeFee?.(USDC, USDC), volumeFee?.(WETH, NATIVE)]).toEqual([0, 200, 200]);
  });

  test('without a volume policy have no effect on quotes', async () => {
    const outside = [{ kind: 'volume', factor: 100, orders: 'outOfMarket' }] as const;
    const volumeFee = createVolumeFee(await readFees({ feePolicies: { protocolFees: outside } }), WETH);
    expect(volumeFee?.(WETH, COW)).toBeUndefined();
    expect(createVolumeFee(await readFees({}), WETH)).toBeUndefined();
    expect(await readFees({ volumeFee: 30 })).toEqual({ protocolFees: [{ kind: 'volume', factor: 30 }] });
  });

  test.each<[string, unknown, string]>([
    ['is not JSON', '{', 'is not JSON'],
    ['has a key that is the prototype of objects', '{ "__proto__": {} }', 'the key "__proto__" is not allowed'],
    ['has a repeated key', '{ "protocolFees": [], "protocolFees": [] }', 'the key "protocolFees" is repeated'],
    ['has another kind', { protocolFees: [{ kind: 'flat', factor: 1 }] }, 'protocolFees.0.kind'],
    ['has a factor of one', { protocolFees: [{ kind: 'volume', factor: 1_000_000 }] }, 'protocolFees.0.factor must be'],
    ['has an unknown member', { protocolFees: [], volumeFee: 3 }, 'volumeFee'],
    ['has no time', { protocolFees: [], upcomingFees: { protocolFees: [] } }, 'upcomingFees.from must be a date'],
  ])('rejects a file that %s', async (_, content, message) => {
    const file = await written(content);
    await expect(readFees({ feePolicies: file })).rejects.toThrow(message);
    await expect(readFees({ feePolicies: file })).rejects.toThrow(file);
  });

  test('rejects a missing file, and a volume fee besides', async () => {
    await expect(readFees({ feePolicies: '/missing.json' })).rejects.toThrow('/missing.json cannot be read');
    await expect(readFees({ feePolicies: POLICIES, volumeFee: 1 })).rejects.toThrow(
      'volumeFee must not be given together with feePolicies',
    );
  });
});
