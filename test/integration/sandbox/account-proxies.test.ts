import { CowShedHooks, CowShedSdk } from '@cowprotocol/sdk-cow-shed';
import { ViemAdapter } from '@cowprotocol/sdk-viem-adapter';
import { createSandbox, type Sandbox } from 'intentbook/sandbox';
import { createPublicClient, createWalletClient, encodeFunctionData, erc20Abi, type Hex, http, parseAbi } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { sepolia } from 'viem/chains';
import { afterAll, beforeAll, expect, it } from 'vitest';

const PROXY = parseAbi([
  'function nonces(bytes32) view returns (bool)',
  'function trustedExecutor() view returns (address)',
  'function initialize(address, bool)',
]);
const FACTORY = parseAbi([
  'function proxyOf(address) view returns (address)',
  'function ownerOf(address) view returns (address)',
  'function initializeProxy(address, bool)',
]);

let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await createSandbox();
});
afterAll(() => sandbox?.close());

/** Creates a trader with the published SDK of account proxies. */
async function createOwner() {
  const trader = await sandbox.createTrader({ WETH: '2' });
  const account = privateKeyToAccount(trader.privateKey);
  const transport = http(sandbox.rpcUrl);
  const client = createPublicClient({ chain: sepolia, transport });
  const wallet = createWalletClient({ account, chain: sepolia, transport });
  const adapter = new ViemAdapter({ provider: client, signer: account } as never) as never; // another copy of the types
  const sdk = new CowShedSdk(adapter);
  const proxy = sdk.getCowShedAccount(sandbox.chainId, trader.address) as Hex;
  const usdc = sandbox.token('USDC').address;
  const toTransfer = (to: Hex, atoms: bigint) => ({
    target: usdc,
    callData: encodeFunctionData({ abi: erc20Abi, functionName: 'transfer', args: [to, atoms] }),
    value: 0n,
    allowFailure: false,
    isDelegateCall: false,
  });
  const sign = async (...calls: ReturnType<typeof toTransfer>[]) => {
    const options = { calls, chainId: sandbox.chainId, signer: account as never, gasLimit: 1_000_000n };
    const { signedMulticall } = await sdk.signCalls(options as never);
    return { to: signedMulticall.to as Hex, data: signedMulticall.data as Hex };
  };
  const send = async (transaction: { readonly to: Hex; readonly data: Hex }) => {
    const hash = await wallet.sendTransaction({ ...transaction, gas: 2_000_000n });
    return (await client.waitForTransactionReceipt({ hash })).status;
  };
  const balanceOf = (owner: Hex) =>
    client.readContract({ address: usdc, abi: erc20Abi, functionName: 'balanceOf', args: [owner] });
  return { trader, client, proxy, sign, send, toTransfer, balanceOf };
}

const FRIEND: Hex = `0x${'f1'.repeat(20)}`;

it('account proxies: the hook of an order moves what its proxy has received', async () => {
  const { trader, client, proxy, sign, toTransfer, balanceOf } = await createOwner();
  const atoms = 2000n * 10n ** 18n;
  const { to: target, data: callData } = await sign(toTransfer(FRIEND, atoms));
  const hooks = { post: [{ target, callData, gasLimit: '1000000' }] };
  const appData = JSON.stringify({ appCode: 'tests', metadata: { hooks } });
  const terms = { sell: ['1', 'WETH'], for: ['2000', 'USDC'] } as const;
  const uid = await trader.placeOrder(terms, { appData, receiver: proxy });
  await sandbox.waitFor(uid, 'fulfilled');
  const bought = BigInt((await sandbox.book.orders.get(uid))?.executedBuyAmount ?? 0);
  expect(await balanceOf(FRIEND)).toBe(atoms);
  expect(await balanceOf(proxy)).toBe(bought - atoms);
  const factory = { address: target, abi: FACTORY } as const;
  expect(await client.readContract({ ...factory, functionName: 'proxyOf', args: [trader.address] })).toBe(proxy);
  expect(await client.readContract({ ...factory, functionName: 'ownerOf', args: [proxy] })).toBe(
    privateKeyToAccount(trader.privateKey).address,
  );
});

it('account proxies: calls need the signature of the owner, and are made once', async () => {
  const [owner, other] = [await createOwner(), await createOwner()];
  await sandbox.fund({ address: owner.proxy }, { USDC: '10' });
  const signed = await owner.sign(owner.toTransfer(FRIEND, 1n));
  const swap = (data: Hex, from: Hex, to: Hex) => data.replaceAll(from.slice(2).toLowerCase(), to.slice(2)) as Hex;
  const foreign = { ...signed, data: swap(signed.data, owner.trader.address, other.trader.address) };
  expect(await other.send(foreign)).toBe('reverted');
  expect(await other.send({ ...signed, data: swap(signed.data, FRIEND, other.trader.address) })).toBe('reverted');
  const before = await owner.balanceOf(FRIEND);
  expect([await other.send(signed), await owner.balanceOf(FRIEND)]).toEqual(['success', before + 1n]);
  expect(await owner.send(signed)).toBe('reverted');

  // A call that fails takes all of them back.
  const failing = await owner.sign(owner.toTransfer(FRIEND, 1n), owner.toTransfer(FRIEND, 10n ** 30n));
  expect([await owner.send(failing), await owner.balanceOf(FRIEND)]).toEqual(['reverted', before + 1n]);
  const allowed = { ...owner.toTransfer(FRIEND, 10n ** 30n), allowFailure: true };
  expect(await owner.send(await owner.sign(allowed, owner.toTransfer(FRIEND, 1n)))).toBe('success');
  expect(await owner.balanceOf(FRIEND)).toBe(before + 2n);

  // A proxy is initialized once.
  const args = [other.trader.address, false] as const;
  const data = encodeFunctionData({ abi: PROXY, functionName: 'initialize', args });
  expect(await owner.send({ to: owner.proxy, data })).toBe('reverted');
  const executor = await owner.client.readContract({
    address: owner.proxy,
    abi: PROXY,
    functionName: 'trustedExecutor',
  });
  expect(executor).toBe(new CowShedHooks(sandbox.chainId).getFactoryAddress());
});
