import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { webhookChannel } from 'intentbook/channels';
import { createClient } from 'intentbook/client';
import type { Sandbox } from 'intentbook/sandbox';
import { createSandbox } from 'intentbook/sandbox';
import { privateKeyToAccount } from 'viem/accounts';
import { expect, it } from 'vitest';
import { affiliateTypedData } from '../../support/affiliates.ts';

async function send(sandbox: Sandbox, path: string, body?: unknown) {
  const headers = { 'content-type': 'application/json' };
  const init = body === undefined ? {} : { method: 'POST', headers, body: JSON.stringify(body) };
  const response = await fetch(sandbox.url + path, init);
  return { status: response.status, body: (await response.json()) as never };
}

it('simulated sandbox: pools have the value of their reserves and the volume of the last day', async () => {
  await using sandbox = await createSandbox({ chain: 'simulated' });
  const trader = await sandbox.createTrader({ WETH: '10' });
  const uid = await trader.placeOrder({ sell: ['4', 'WETH'], for: ['9000', 'USDC'] });
  await sandbox.waitFor(uid, 'fulfilled');
  const read = async () => (await send(sandbox, `/${sandbox.chainId}/yield/pools`, [])).body as Pool[];
  const pools = await read();
  expect(pools.length).toBe(sandbox.tokens.length - 1);
  for (const { tvl } of pools) expect(Math.abs(tvl / (2 * 10_000 * 2500) - 1)).toBeLessThan(0.01);
  const [traded, ...others] = pools.filter(({ volume }) => volume > 0);
  expect([traded?.project, others.length]).toEqual(['Simulated pools', 0]);
  expect(traded?.volume).toBeGreaterThan(9_900);
  expect(traded?.apr).toBeCloseTo(((traded?.volume ?? 0) * 0.3 * 365) / (traded?.tvl ?? 1), 9);
  await sandbox.advance(2 * 86_400);
  expect((await read()).map(({ volume }) => volume)).toEqual(pools.map(() => 0));
});

interface Pool {
  readonly project: string;
  readonly apr: number;
  readonly tvl: number;
  readonly volume: number;
}

it('simulated sandbox: a trade reaches a webhook', async () => {
  const received: string[] = [];
  const receiver = createServer(async (request, response) => {
    const body = await text(request);
    received.push(body);
    response.end(JSON.stringify({ challenge: JSON.parse(body).challenge }));
  }).listen(0, '127.0.0.1');
  await once(receiver, 'listening');
  const target = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`;
  const channels = [webhookChannel({ allow: ['127.0.0.0/8'] })];
  await using sandbox = await createSandbox({ chain: 'simulated', channels });
  const trader = await sandbox.createTrader({ WETH: '1' });
  const user = createClient(sandbox.url).account(privateKeyToAccount(trader.privateKey), {
    domainName: 'CoW Swap Affiliate',
  });
  await user.subscribe({ channel: 'webhook', target, types: ['order_filled'] });
  const uid = await trader.placeOrder({ sell: ['1', 'WETH'], for: ['2000', 'USDC'] });
  await expect.poll(() => received.join(''), { timeout: 20_000 }).toContain(uid);
  receiver.close();
});

it('simulated sandbox: simulation of bundles responds 503', async () => {
  await using sandbox = await createSandbox({ chain: 'simulated' });
  const [{ address } = { address: '0x' }] = sandbox.accounts;
  const bundle = [{ from: address, to: address, input: '0x' }];
  expect(await send(sandbox, `/${sandbox.chainId}/simulation/simulateBundle`, bundle)).toEqual({
    status: 503,
    body: { message: 'Simulations are not available on this chain' },
  });
});

it('sandbox: affiliate statistics and history of a referred trader, also after a revert', async () => {
  await using sandbox = await createSandbox({ chain: 'simulated' });
  const [first] = sandbox.accounts;
  const affiliate = privateKeyToAccount(first?.privateKey ?? '0x');
  const domain = { name: 'CoW Swap Affiliate', version: '1' };
  const signedMessage = await affiliate.signTypedData(affiliateTypedData(affiliate.address, 'SANDBOX', domain));
  const registration = { walletAddress: affiliate.address, code: 'SANDBOX', signedMessage };
  expect((await send(sandbox, `/affiliate/${affiliate.address}`, registration)).status).toBe(201);
  const snapshot = await sandbox.snapshot();
  const trader = await sandbox.createTrader({ WETH: '10' });
  const appData = JSON.stringify({ metadata: { referrer: { code: 'SANDBOX' } } });
  const uid = await trader.placeOrder({ sell: ['4', 'WETH'], for: ['9000', 'USDC'] }, { appData });
  await sandbox.waitFor(uid, 'fulfilled');
  const stats = async () => (await send(sandbox, `/affiliate/trader-stats/${trader.address}`)) as Stats;
  await until(async () => (await stats()).status === 200);
  const { body } = await stats();
  expect(body).toMatchObject({ bound_referrer_code: 'SANDBOX', trigger_volume: 1000 });
  expect(body.eligible_volume).toBeGreaterThan(9_900);
  expect(body.total_earned).toBe(5 * Math.floor(body.eligible_volume / 1000));
  for (const [table, count] of [
    ['orders', 1],
    ['trades', 1],
  ] as const) {
    const { body: rows } = await send(sandbox, `/accounts/${trader.address}/${table}`);
    expect((rows as unknown[]).length).toBe(count);
  }
  await sandbox.revert(snapshot);
  await until(async () => (await stats()).status === 404);
});

interface Stats {
  readonly status: number;
  readonly body: { readonly eligible_volume: number; readonly total_earned: number };
}

async function until(done: () => Promise<boolean>): Promise<void> {
  for (let i = 0; i < 400; i++) {
    if (await done()) return;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  throw new Error('the condition was not met');
}
