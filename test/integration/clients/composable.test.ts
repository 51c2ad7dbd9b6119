import { createRequire } from 'node:module';
import {
  COMPOSABLE_COW_CONTRACT_ADDRESS,
  EXTENSIBLE_FALLBACK_HANDLER_CONTRACT_ADDRESS,
  OrderBookApi,
} from '@cowprotocol/cow-sdk';
import type { PollParams } from '@cowprotocol/sdk-composable';
import { StartTimeValue, Twap } from '@cowprotocol/sdk-composable';
import { ViemAdapter } from '@cowprotocol/sdk-viem-adapter';
import type { Sandbox } from 'intentbook/sandbox';
import { createSandbox } from 'intentbook/sandbox';
import type { Abi, Hex } from 'viem';
import {
  concatHex,
  createPublicClient,
  encodeDeployData,
  encodeFunctionData,
  http,
  keccak256,
  parseAbi,
  toHex,
  zeroAddress,
  zeroHash,
} from 'viem';
import { sepolia } from 'viem/chains';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Transaction } from '../../../apps/sandbox/deployment.ts';
import { transact } from '../../../apps/sandbox/deployment.ts';
import { createRpc } from '../../../apps/sandbox/rpc.ts';
import { account, SEPOLIA } from '../../support/orders.ts';

const REGISTRY = COMPOSABLE_COW_CONTRACT_ADDRESS[SEPOLIA] as Hex; // an address
const SAFE_HANDLER = EXTENSIBLE_FALLBACK_HANDLER_CONTRACT_ADDRESS[SEPOLIA] as Hex; // an address
const PARAMS = '(address handler, bytes32 salt, bytes staticInput)';
const REGISTRY_ABI = parseAbi([
  `function createWithContext(${PARAMS} params, address factory, bytes data, bool dispatch)`,
  'function remove(bytes32 hash)',
  `function hash(${PARAMS} params) view returns (bytes32)`,
  'function cabinet(address owner, bytes32 hash) view returns (bytes32)',
  'function setRoot(bytes32 root, (uint256 location, bytes data) proof)',
  'function domainSeparator() view returns (bytes32)',
  `function getTradeableOrderWithSignature(address owner, ${PARAMS} params, bytes input, bytes32[] proof) view returns ((address sellToken, address buyToken, address receiver, uint256 sellAmount, uint256 buyAmount, uint32 validTo, bytes32 appData, uint256 feeAmount, bytes32 kind, bool partiallyFillable, bytes32 sellTokenBalance, bytes32 buyTokenBalance) order, bytes signature)`,
  'error SingleOrderNotAuthed()',
  'error ProofNotAuthed()',
]);
const HANDLER_ABI = parseAbi([
  'function setDomainVerifier(bytes32 domain, address verifier)',
  'function isValidSignature(bytes32 digest, bytes signature) view returns (bytes4)',
  'function supportsInterface(bytes4 id) view returns (bool)',
]);

/** The contract that returns the time of a block. */
const BLOCK_TIME = '0x52eD56Da04309Aca4c3FECC595298d80C2f16BAc';

/** How a signature begins that a verifier of a Safe checks. */
const SAFE_SIGNATURE = /^0x5fd7e97d/;

/** The contracts of a Safe 1.3.0. */
function readSafeArtifact(name: 'GnosisSafe' | 'proxies/GnosisSafeProxy'): { abi: Abi; bytecode: Hex } {
  const path = `${name}.sol/${name.replace('proxies/', '')}`;
  return createRequire(import.meta.url)(`@gnosis.pm/safe-contracts/build/artifacts/contracts/${path}.json`);
}

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

  async function deploy({ abi, bytecode }: { abi: Abi; bytecode: Hex }, ...args: Hex[]): Promise<Hex> {
    const created = await send({ from: sandbox.solverAddress, data: encodeDeployData({ abi, bytecode, args }) });
    if (created == null) throw new Error('a contract was not deployed');
    return created;
  }

  /** Creates a Safe whose orders of the settlement contract the registry verifies. */
  async function createSafe(): Promise<Hex> {
    const singleton = readSafeArtifact('GnosisSafe');
    const safe = await deploy(readSafeArtifact('proxies/GnosisSafeProxy'), await deploy(singleton));
    const setup = [[account(1).address], 1n, zeroAddress, '0x', SAFE_HANDLER, zeroAddress, 0n, zeroAddress];
    const data = encodeFunctionData({ abi: singleton.abi, functionName: 'setup', args: setup });
    await send({ from: sandbox.solverAddress, to: safe, data });
    await call('anvil_setBalance', safe, toHex(10n ** 18n));
    await send({ from: safe, to: safe, data: await encodeVerifier() });
    return safe;
  }

  async function encodeVerifier(): Promise<Hex> {
    const domain = await read('domainSeparator');
    return encodeFunctionData({ abi: HANDLER_ABI, functionName: 'setDomainVerifier', args: [domain as Hex, REGISTRY] });
  }

  const read = (functionName: string, ...args: unknown[]) =>
    client().readContract({ address: REGISTRY, abi: REGISTRY_ABI, functionName, args } as never);

  /** Sends a transaction of the Safe to the registry. */
  const sendFromSafe = (functionName: string, ...args: unknown[]) => {
    const data = encodeFunctionData({ abi: REGISTRY_ABI, functionName, args } as never);
    return send({ from: wallet, to: REGISTRY, data });
  };

  const getOrder = (owner: Hex, params: object, ...proof: Hex[]) =>
    read('getTradeableOrderWithSignature', owner, params, '0x', proof) as Promise<readonly [Part, Hex]>;

  /** Returns the parameters of the order with another salt and another start, the sixth word of its terms. */
  function createParams(salt: string, start: Hex) {
    const { handler, staticInput } = twap.leaf as { readonly handler: Hex; readonly staticInput: Hex };
    const words = staticInput.slice(2);
    return {
      handler,
      salt: `0x${salt.repeat(32)}`,
      staticInput: `0x${words.slice(0, 64 * 5)}${start.slice(2)}${words.slice(64 * 6)}`,
    } as const;
  }

  beforeAll(async () => {
    sandbox = await createSandbox({ solver: 'manual' });
    wallet = await createSafe();
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
    await fundWallet();
  });
  afterAll(() => sandbox.close());

  /** Gives tokens to the wallet, approves the relayer and registers the order: the calldata is that of the package. */
  async function fundWallet(): Promise<void> {
    await call('anvil_setBalance', wallet, toHex(10n ** 18n));
    await sandbox.fund(wallet, { WETH: '2' });
    const approve: Hex = `0x095ea7b3${sandbox.vaultRelayer.slice(2).padStart(64, '0')}${'f'.repeat(64)}`;
    await send({ from: wallet, to: sandbox.token('WETH').address, data: approve });
    await send({ from: wallet, to: REGISTRY, data: twap.createCalldata as Hex }); // as the package renders it
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

  test('the block of its creation starts an order without a start', async () => {
    const params = createParams('01', zeroHash);
    await sendFromSafe('createWithContext', params, BLOCK_TIME, '0x', true);
    const { timestamp } = await client().getBlock();
    const id = await read('hash', params);
    expect(BigInt((await read('cabinet', wallet, id)) as Hex)).toBe(timestamp);
    const [order] = await getOrder(wallet, params);
    expect(order.validTo).toBe(Number(timestamp) + 3599);
    await sendFromSafe('remove', id);
    await expect(getOrder(wallet, params)).rejects.toThrow('SingleOrderNotAuthed');
  });

  test('an order is a leaf of the root of its owner', async () => {
    const { timestamp } = await client().getBlock();
    const params = createParams('02', toHex(timestamp, { size: 32 }));
    const leaf = keccak256((await read('hash', params)) as Hex);
    const other = keccak256('0x01');
    const root = keccak256(concatHex(leaf < other ? [leaf, other] : [other, leaf]));
    await sendFromSafe('setRoot', root, { location: 0n, data: '0x' });
    expect((await getOrder(wallet, params, other))[1]).toMatch(SAFE_SIGNATURE);
    await expect(getOrder(wallet, params, leaf)).rejects.toThrow('ProofNotAuthed');
  });

  test('an account that is not a Safe receives the order and its proof', async () => {
    const params = createParams('03', zeroHash);
    const owner = sandbox.solverAddress;
    const args = [params, BLOCK_TIME, '0x', true] as const;
    const data = encodeFunctionData({ abi: REGISTRY_ABI, functionName: 'createWithContext', args });
    await send({ from: owner, to: REGISTRY, data });
    const [{ sellToken }, signature] = await getOrder(owner, params);
    expect(signature.slice(0, 66)).toBe(`0x${sellToken.slice(2).toLowerCase().padStart(64, '0')}`);
  });

  test('the handler of a Safe verifies the signatures of its owners, and obeys the Safe only', async () => {
    const digest = keccak256('0x02');
    const signature = await account(1).signTypedData({
      domain: { chainId: SEPOLIA, verifyingContract: wallet },
      types: { SafeMessage: [{ name: 'message', type: 'bytes' }] },
      primaryType: 'SafeMessage',
      message: { message: digest },
    });
    const safe = { address: wallet, abi: HANDLER_ABI } as const;
    const verify = (args: readonly [Hex, Hex]) =>
      client().readContract({ ...safe, functionName: 'isValidSignature', args });
    expect(await verify([digest, signature])).toBe('0x1626ba7e');
    await expect(verify([keccak256('0x03'), signature])).rejects.toThrow();
    await expect(verify([digest, '0x'])).rejects.toThrow('Hash not approved');
    const data = await encodeVerifier();
    const stranger = account(2).address;
    await expect(client().call({ account: stranger, to: wallet, data })).rejects.toThrow('only safe can call');
    const supports = (id: Hex) => client().readContract({ ...safe, functionName: 'supportsInterface', args: [id] });
    expect(
      await Promise.all(['0x62af8dc2', '0x01ffc9a7', '0x150b7a02', '0xffffffff'].map((id) => supports(id as Hex))),
    ).toEqual([true, true, true, false]);
  });
});
