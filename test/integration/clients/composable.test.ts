import { COMPOSABLE_COW_CONTRACT_ADDRESS, OrderBookApi } from '@cowprotocol/cow-sdk';
import type { PollParams } from '@cowprotocol/sdk-composable';
import { StartTimeValue, Twap } from '@cowprotocol/sdk-composable';
import { ViemAdapter } from '@cowprotocol/sdk-viem-adapter';
import type { Sandbox } from 'intentbook/sandbox';
import { createSandbox } from 'intentbook/sandbox';
import type { Hex } from 'viem';
import { createPublicClient, encodeDeployData, http, keccak256, toHex } from 'viem';
import { sepolia } from 'viem/chains';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Transaction } from '../../../apps/sandbox/deployment.ts';
import { transact } from '../../../apps/sandbox/deployment.ts';
import { createRpc } from '../../../apps/sandbox/rpc.ts';
import { account, SEPOLIA } from '../../support/orders.ts';
import { compileComposable } from './composable-contracts.ts';

const HANDLER = '0x6cF1e9cA41f7611dEf408122793c358a3d11E5a5';
const DOCUMENT = JSON.stringify({ version: '1.3.0', appCode: 'composable', metadata: {} });
const HASH = keccak256(toHex(DOCUMENT));
const KINDS: Readonly<Record<string, string>> = { [keccak256(toHex('sell'))]: 'sell' };

/** A part of a conditional order, as the registry returns it. */
interface Part {
  readonly sellToken: Hex;
  readonly buyToken: Hex;
  readonly receiver: Hex;
  readonly sellAmount: bigint;
  readonly buyAmount: bigint;
  readonly validTo: number;
  readonly kind: string;
}

/** Conditional orders of the published package, submitted like a watch tower does: by the hash of their app data. */
describe('sdk-composable', () => {
  let sandbox: Sandbox;
  let api: OrderBookApi;
  let wallet: Hex;
  let twap: Twap;

  const client = () => createPublicClient({ chain: sepolia, transport: http(sandbox.rpcUrl), pollingInterval: 5 });
  const call = (method: string, ...params: unknown[]) => client().request({ method, params } as never) as Promise<Hex>;

  /** Sends a transaction, waits until it is in a block, and returns the address of the contract that it created. */
  async function send({ from, to, data }: { from: Hex; to?: Hex; data: Hex }): Promise<Hex | null | undefined> {
    const transaction = { from, to: to as Hex, data } satisfies Transaction; // a creation has no recipient
    const { transactionHash } = await transact(createRpc(sandbox.rpcUrl ?? ''), transaction);
    const { contractAddress } = await client().getTransactionReceipt({ hash: transactionHash });
    return contractAddress;
  }

  beforeAll(async () => {
    sandbox = await createSandbox({ solver: 'manual' });
    const { Registry, RegistryWallet } = compileComposable();
    const registry = COMPOSABLE_COW_CONTRACT_ADDRESS[SEPOLIA] as Hex; // an address
    await call('anvil_setCode', registry, Registry.deployedBytecode);
    const { abi, bytecode } = RegistryWallet;
    const deployed = await send({
      from: sandbox.solverAddress,
      data: encodeDeployData({ abi, bytecode, args: [registry] }),
    });
    if (deployed == null) throw new Error('the wallet was not deployed');
    wallet = deployed;
    const baseUrls = { [SEPOLIA]: sandbox.url } as never; // the type requires a URL for every chain
    api = new OrderBookApi({ chainId: SEPOLIA, baseUrls, backoffOpts: { numOfAttempts: 1 } });

    const { timestamp } = await client().getBlock();
    // Casts, because the package has its own copy of the types.
    const adapter = new ViemAdapter({ provider: client(), signer: account(1) } as never) as never;
    const data = {
      sellToken: sandbox.token('WETH').address,
      buyToken: sandbox.token('USDC').address,
      receiver: wallet,
      sellAmount: 2n * 10n ** 18n,
      buyAmount: 4000n * 10n ** 18n,
      startTime: { startType: StartTimeValue.AT_EPOCH, epoch: timestamp - 10n } as const,
      numberOfParts: 2n,
      timeBetweenParts: 3600n,
      appData: HASH,
    };
    twap = new Twap({ handler: HANDLER, data }, adapter);
    await fundWallet(registry);
  });
  afterAll(() => sandbox.close());

  /** Gives tokens to the wallet, approves the relayer and registers the order: the calldata is that of the package. */
  async function fundWallet(registry: Hex): Promise<void> {
    await call('anvil_setBalance', wallet, toHex(10n ** 18n));
    await sandbox.fund(wallet, { WETH: '2' });
    const approve: Hex = `0x095ea7b3${sandbox.vaultRelayer.slice(2).padStart(64, '0')}${'f'.repeat(64)}`;
    await send({ from: wallet, to: sandbox.token('WETH').address, data: approve });
    await send({ from: wallet, to: registry, data: twap.createCalldata as Hex }); // as the package renders it
    await sandbox.synchronize();
  }

  const poll = () =>
    twap.poll({ chainId: SEPOLIA, owner: wallet, provider: client(), orderBookApi: api } as unknown as PollParams);

  /** Posts the current part as a watch tower does: with the hash of the document alone. */
  async function post() {
    const result = await poll();
    if (result.result !== 'SUCCESS') throw new Error(JSON.stringify(result));
    const part = result.order as unknown as Part; // as the registry returns it
    return fetch(`${sandbox.url}/api/v1/orders`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        sellToken: part.sellToken,
        buyToken: part.buyToken,
        receiver: part.receiver,
        sellAmount: String(part.sellAmount),
        buyAmount: String(part.buyAmount),
        validTo: Number(part.validTo),
        appData: HASH,
        feeAmount: '0',
        kind: KINDS[part.kind],
        partiallyFillable: false,
        sellTokenBalance: 'erc20',
        buyTokenBalance: 'erc20',
        signingScheme: 'eip1271',
        signature: result.signature,
        from: wallet,
      }),
    });
  }

  test('a part whose document is unknown is rejected, and accepted after the upload', async () => {
    const unknown = await post();
    expect([unknown.status, await unknown.json()]).toMatchObject([400, { errorType: 'InvalidAppData' }]);
    await api.uploadAppData(HASH, DOCUMENT);
    const response = await post();
    const uid = (await response.json()) as Hex;
    expect([response.status, uid]).toEqual([201, expect.stringMatching(/^0x[0-9a-f]{112}$/)]);
    expect(await api.getOrder(uid)).toMatchObject({
      owner: wallet.toLowerCase(),
      appData: HASH,
      fullAppData: DOCUMENT,
      status: 'open',
    });
    // The package finds the order in the book under the UID that it computes.
    expect(await poll()).toMatchObject({ result: 'TRY_AT_EPOCH' });
    await sandbox.settle(uid);
    await sandbox.waitFor(uid, 'fulfilled');
  });

  test('the next part is posted after its interval and settled', async () => {
    await sandbox.advance(3600);
    const response = await post();
    const uid = (await response.json()) as Hex;
    expect([response.status, uid]).toEqual([201, expect.stringMatching(/^0x[0-9a-f]{112}$/)]);
    await sandbox.settle(uid);
    await sandbox.waitFor(uid, 'fulfilled');

    expect(await poll()).toMatchObject({ result: 'DONT_TRY_AGAIN' });
    expect(sandbox.failures).toEqual([]);
  });
});
