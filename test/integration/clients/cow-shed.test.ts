import { MetadataApi, OrderBookApi } from '@cowprotocol/cow-sdk';
import { CowShedSdk } from '@cowprotocol/sdk-cow-shed';
import { ViemAdapter } from '@cowprotocol/sdk-viem-adapter';
import { createPublicClient, custom, encodeFunctionData, erc20Abi } from 'viem';
import { sepolia } from 'viem/chains';
import { afterAll, describe, expect, test } from 'vitest';
import { account, COW, SEPOLIA, signOrder, WETH } from '../../support/orders.ts';
import type { SpawnedServer } from '../server/spawn.ts';
import { spawnServer } from '../server/spawn.ts';

const OWNER = account(78);
const TRAMPOLINE = '0x60bf78233f48ec42ee3f101b9a05ec7878728006';

/** App-data documents with the calls of a CoW Shed account, as bridges use them. */
describe('sdk-cow-shed', () => {
  const servers: SpawnedServer[] = [];
  afterAll(() => Promise.all(servers.map((server) => server.end('SIGTERM'))));

  async function start(...flags: string[]): Promise<string> {
    const server = await spawnServer(['--db', ':memory:', ...flags]);
    servers.push(server);
    return server.url;
  }

  /** Signs two calls of the account and creates the document of an order that makes them after its trade. */
  async function createDocument(): Promise<string> {
    // The package reads the code of the owner only.
    const transport = custom({ request: async () => '0x' });
    const provider = createPublicClient({ chain: sepolia, transport });
    const adapter = new ViemAdapter({ provider, signer: OWNER } as never) as never; // another copy of the types
    const transfer = encodeFunctionData({
      abi: erc20Abi,
      functionName: 'approve',
      args: [OWNER.address, 2n ** 256n - 1n],
    });
    const call = { value: 0n, allowFailure: false, isDelegateCall: false };
    const { signedMulticall, gasLimit, cowShedAccount } = await new CowShedSdk(adapter).signCalls({
      calls: [
        { ...call, target: COW, callData: transfer },
        { ...call, target: WETH, callData: `0x${'ab'.repeat(324)}` },
      ],
      chainId: SEPOLIA,
      signer: OWNER as never,
      gasLimit: 400_000n,
    });
    expect(cowShedAccount).toMatch(/^0x[0-9a-fA-F]{40}$/);
    const { to: target, data: callData } = signedMulticall;
    const document = await new MetadataApi(adapter).generateAppDataDoc({
      appCode: 'intentbook tests',
      metadata: { hooks: { post: [{ target, callData, gasLimit: String(gasLimit) }] } },
    } as never);
    return JSON.stringify(document);
  }

  async function submit(url: string, appData: string) {
    const validTo = Math.floor(Date.now() / 1000) + 3600;
    const body = JSON.stringify(await signOrder(OWNER, { validTo, appData }));
    const headers = { 'content-type': 'application/json' };
    const response = await fetch(`${url}/api/v1/orders`, { method: 'POST', headers, body });
    return { status: response.status, body: await response.json() };
  }

  test('an order with the calls of an account is accepted with --max-app-data-size 8192', async () => {
    const url = await start('--max-app-data-size', '8192');
    const document = await createDocument();
    expect(document.length).toBeGreaterThan(2500);
    const { status, body: uid } = await submit(url, document);
    expect([status, uid]).toEqual([201, expect.any(String)]);
    const baseUrls = { [SEPOLIA]: url } as never; // the type requires a URL for every chain
    const api = new OrderBookApi({ chainId: SEPOLIA, baseUrls, backoffOpts: { numOfAttempts: 1 } });
    const { fullAppData, appData, interactions } = await api.getOrder(uid as string);
    expect(fullAppData).toBe(document);
    expect(await api.getAppData(appData)).toEqual({ fullAppData: document });
    expect(interactions?.post).toMatchObject([{ target: TRAMPOLINE, value: '0' }]);
    const hook = JSON.parse(document).metadata.hooks.post[0];
    expect(interactions?.post?.[0]?.callData).toContain(hook.callData.slice(2));
  });

  test('a book with the default limit rejects the document with its size', async () => {
    const document = await createDocument();
    expect(await submit(await start(), document)).toMatchObject({
      status: 400,
      body: { errorType: 'InvalidAppData', description: expect.stringContaining('1000') },
    });
  });
});
