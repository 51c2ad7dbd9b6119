import type { Address } from 'intentbook';
import { createOrderBook } from 'intentbook';
import { createAccountApi, createAccounts } from 'intentbook/accounts';
import { memoryAccountStore, memoryStore } from 'intentbook/memory';
import { viemChain } from 'intentbook/viem';
import type { Hex } from 'viem';
import { encodeDeployData, encodeFunctionData, parseAbi } from 'viem';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { affiliateTypedData } from '../../support/affiliates.ts';
import { waitForReceipt } from '../../support/anvil.ts';
import type { Evm } from '../../support/evm.ts';
import { deploy, deployProtocol, deployToken, RELAYER, SOLVER, send, startEvm } from '../../support/evm.ts';
import { account, SEPOLIA, signOrder } from '../../support/orders.ts';
import { directFixture } from '../http/http-fixture.ts';
import { contract } from './contracts.ts';

const ERC20 = parseAbi([
  'function mint(address,uint256)',
  'function approve(address,uint256) returns (bool)',
  'function burn(uint256)',
]);
const NATIVE = '0xeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee';
const OWNER = account(8_001);
const WORD = 2n ** 256n - 1n;

const lower = (address: string) => address.toLowerCase() as Address;

/** The account interface over a real EVM, which is the chain of the book and chain 1. */
describe('account interface over a real EVM', () => {
  let evm: Evm;
  let token: Hex;
  let close = async () => {};
  let sendRequest: (method: string, path: string, body?: unknown) => Promise<readonly [number, unknown]>;
  const failures: unknown[] = [];

  beforeAll(async () => {
    evm = await startEvm();
    const { client } = evm;
    await deployProtocol(client);
    token = await deployToken(client, 'TKN');
    const chain = viemChain(client);
    const book = createOrderBook({ chainId: SEPOLIA, store: memoryStore(), chain });
    const onFailure = (failure: unknown) => failures.push(failure);
    const accounts = createAccounts({ books: [book], store: memoryAccountStore(), mainnet: chain, onFailure });
    await book.start();
    await accounts.start();
    const { send } = directFixture(createAccountApi(accounts), () => 0);
    sendRequest = async (method, path, body) => {
      const answer = await send(method, path, body === undefined ? {} : { body });
      return [answer.status, answer.json()];
    };
    close = async () => {
      await accounts.close();
      await book.close();
      await evm[Symbol.asyncDispose]();
    };
  });
  afterAll(async () => {
    await close();
    expect(failures).toEqual([]);
  });

  const balances = (...tokens: string[]) =>
    sendRequest('GET', `/${SEPOLIA}/accounts/${SOLVER}/balances?tokens=${tokens.join()}`);

  test('reads balances, allowances, token metadata and native currency', async () => {
    const { client } = evm;
    const write = async (functionName: 'mint' | 'approve', to: Hex, amount: bigint) => {
      const hash = await client.writeContract({
        address: token,
        abi: ERC20,
        functionName,
        args: [to, amount],
        account: SOLVER as Hex,
        chain: null,
      });
      await waitForReceipt(client, hash);
    };
    await write('mint', SOLVER, 123n);
    await write('approve', RELAYER, WORD);
    await client.setBalance({ address: SOLVER, value: 10n ** 20n + 7n });
    expect(await balances(token, NATIVE, OWNER.address, RELAYER)).toEqual([
      200,
      [
        {
          balance: '123',
          allowance: WORD.toString(),
          token: { address: lower(token), decimals: 18, symbol: 'TKN', name: 'TKN' },
        },
        {
          balance: (10n ** 20n + 7n).toString(),
          allowance: '0',
          token: { address: NATIVE, decimals: 18, symbol: 'ETH', name: 'Ether' },
        },
      ],
    ]);
  });

  test('omits tokens that return no balance', async () => {
    const odd = (kind: bigint) => deploy(evm.client, encodeDeployData({ ...contract('OddToken'), args: [kind] }));
    const [old, lying, hanging] = await Promise.all([await odd(0n), await odd(1n), await odd(2n)].map(lower));
    const [status, found] = await balances(old ?? '', lying ?? '', hanging ?? '');
    expect(status).toBe(200);
    expect(found).toEqual([]);
  });

  test('notifies an account once about an order that it can no longer fund', async () => {
    const { client } = evm;
    const sold = await deployToken(client, 'SOLD');
    const write = async (functionName: 'mint' | 'approve' | 'burn', from: Hex, ...args: readonly unknown[]) => {
      await send(client, { to: sold, from, data: encodeFunctionData({ abi: ERC20, functionName, args } as never) });
    };
    const owner = OWNER.address;
    await client.impersonateAccount({ address: owner });
    await client.setBalance({ address: owner, value: 10n ** 18n });
    await write('mint', SOLVER, owner, 100n);
    await write('approve', owner, RELAYER, WORD);
    await using book = createOrderBook({ chainId: SEPOLIA, store: memoryStore(), chain: viemChain(client) });
    await book.start();
    const store = memoryAccountStore();
    await using accounts = createAccounts({
      books: [book],
      store,
      fundingInterval: 20,
      onFailure: (failure) => failures.push(failure),
    });
    await accounts.start();
    const validTo = Math.floor(Date.now() / 1000) + 3600;
    const order = { validTo, sellToken: sold, sellAmount: '100', receiver: owner };
    const result = await book.orders.submit(await signOrder(OWNER, order));
    if (result.status !== 'accepted') throw result.error;
    const { uid } = result;
    const marked = () => store.notifications.marks(`funding ${SEPOLIA} ${book.settlementContract}`, [uid]);
    const listNotifications = async () => (await accounts.notifications.list(owner)).notifications;
    const shortfalls: unknown[] = [];
    for (const times of [1, 2]) {
      await write('burn', owner, 40n);
      while ((await listNotifications()).length < times) await new Promise((resolve) => setTimeout(resolve, 10));
      shortfalls.unshift({
        orderUid: uid,
        chainId: SEPOLIA,
        env: 'production',
        token: lower(sold),
        requiredAmount: '100',
        balance: '60',
        allowance: WORD.toString(),
      });
      expect((await listNotifications()).map(({ metadata }) => metadata)).toEqual(shortfalls);
      await write('mint', SOLVER, owner, 40n);
      while ((await marked()).length > 0) await new Promise((resolve) => setTimeout(resolve, 10));
    }
  });

  describe('affiliate signature', () => {
    const body = async (wallet: Hex, code: string, signer = OWNER) => ({
      walletAddress: wallet,
      code,
      signedMessage: await signer.signTypedData(affiliateTypedData(wallet, code)),
    });
    const register = async (of: { walletAddress: Hex }) =>
      (await sendRequest('POST', `/affiliate/${of.walletAddress}`, of))[0];

    test('accepts a contract wallet whose owner has signed', async () => {
      const wallet = await deploy(evm.client, encodeDeployData({ ...contract('Wallet'), args: [OWNER.address] }));
      expect(await register(await body(wallet, 'WALLET', account(8_002)))).toBe(401);
      expect(await register({ ...(await body(wallet, 'WALLET')), code: 'OTHER' } as never)).toBe(401);
      expect(await register(await body(wallet, 'WALLET'))).toBe(201);
      expect(await register(await body(wallet, 'AGAIN'))).toBe(409);
    });

    test('accepts the key of the wallet and no other', async () => {
      expect(await register(await body(OWNER.address, 'KEY-1', account(8_002)))).toBe(401);
      expect(await register({ ...(await body(OWNER.address, 'KEY-1')), signedMessage: '0xabcd' } as never)).toBe(401);
      expect(await register(await body(OWNER.address, 'KEY-1'))).toBe(201);
    });

    // A long positive response is valid, because only its first word is read.
    test.each([
      ['does not terminate', 0, 401],
      ['returns true in a hundred thousand bytes', 1, 201],
      ['returns four bytes', 2, 401],
      ['reverts', 3, 401],
    ])('bounds the check of a contract that %s', async (_, kind, status) => {
      const rogue = await deploy(evm.client, encodeDeployData({ ...contract('Rogue'), args: [BigInt(kind)] }));
      expect(await register(await body(rogue, `ROGUE-${kind}`))).toBe(status);
    });
  });
});
