import type { ChainClient, Hex } from 'intentbook';
import type { RpcClient } from 'intentbook/viem';
import { sanctionsOracle, viemChain } from 'intentbook/viem';
import type { Address as ViemAddress } from 'viem';
import {
  concatHex,
  encodeAbiParameters,
  encodeDeployData,
  encodeFunctionData,
  getContractAddress,
  keccak256,
  toHex,
} from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { sepolia } from 'viem/chains';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { waitForReceipt } from '../../support/anvil.ts';
import { deploy, RELAYER, SETTLEMENT } from '../../support/evm.ts';
import { contract } from './contracts.ts';
import type { Fixture } from './evm-fixture.ts';
import { ERC20, fundedTrader, startFixture } from './evm-fixture.ts';

let fixture: Fixture;
let chain: ChainClient;
beforeAll(async () => {
  fixture = await startFixture();
  chain = viemChain(fixture.client);
});
afterAll(() => fixture[Symbol.asyncDispose]());

const call = () => ({ signal: new AbortController().signal });
const lower = (address: string) => address.toLowerCase() as Hex; // equal digits
const DIGEST = keccak256(toHex('an order'));
const KEY = privateKeyToAccount(keccak256(toHex('a key')));

/** Returns a client with scripted responses for some methods. */
function client(answers: Readonly<Record<string, (params: unknown) => unknown>>): RpcClient {
  return {
    async request(args) {
      const answer = answers[args.method];
      return answer === undefined ? fixture.client.request(args as never) : answer(args.params); // any method
    },
  };
}

const unsupported = () => {
  throw Object.assign(new Error('the method eth_simulateV1 does not exist'), { code: -32601 });
};

describe('viem chain funds', () => {
  test('reads many owners and tokens at once, of one block', async () => {
    const trader = await fundedTrader(fixture, 777n);
    const queries = [
      { owner: lower(trader.address), token: lower(fixture.sellToken), spender: lower(RELAYER) },
      { owner: lower(trader.address), token: lower(fixture.buyToken), spender: lower(RELAYER) },
      { owner: lower(trader.address), token: lower(SETTLEMENT), spender: lower(RELAYER) },
      { owner: lower(trader.address), token: lower(trader.address), spender: lower(RELAYER) },
    ];
    const usedMethods: string[] = [];
    const counting: RpcClient = {
      request(args) {
        usedMethods.push(args.method);
        return fixture.client.request(args as never); // any method
      },
    };
    const nothing = { balance: 0n, allowance: 0n };
    const found = await viemChain(counting).balancesAndAllowances?.(queries, call());
    // The amounts of an address that is not a token are unknown.
    expect(found).toEqual([{ balance: 777n, allowance: 2n ** 256n - 1n }, nothing, undefined, undefined]);
    expect(usedMethods).toEqual(['eth_call']);
    const [first] = queries;
    if (first === undefined) throw new Error('there is a query');
    expect(await chain.balanceAndAllowance?.(first, call())).toEqual(found?.[0]);
  });

  test('reads more funds and tokens at once than the result of one contract creation can contain', async () => {
    const trader = await fundedTrader(fixture, 777n);
    const query = { owner: lower(trader.address), token: lower(fixture.sellToken), spender: lower(RELAYER) };
    const queries = Array.from({ length: 100 }, () => query);
    const funds = await chain.balancesAndAllowances?.(queries, call());
    expect(funds?.map((each) => each?.balance)).toEqual(queries.map(() => 777n));
    const tokens = queries.slice(0, 25).map(({ token }) => token);
    const infos = await chain.tokensInfo?.(tokens, call());
    expect(infos?.map((info) => info?.symbol)).toEqual(tokens.map(() => infos?.[0]?.symbol));
  });

  test('reads the funds beside tokens that use up all gas of a request', async () => {
    const trader = await fundedTrader(fixture, 777n);
    const hostile: Hex = `0x${'66'.repeat(20)}`;
    const setCode = { method: 'anvil_setCode', params: [hostile, '0x5b600056'] }; // an endless loop
    await fixture.client.request(setCode as never); // viem's types list the known methods
    const query = { owner: lower(trader.address), token: lower(fixture.sellToken), spender: lower(RELAYER) };
    const queries = Array.from({ length: 100 }, (_, i) => (i % 3 === 2 ? query : { ...query, token: hostile }));
    const funds = await chain.balancesAndAllowances?.(queries, call());
    expect(funds?.map((each) => each?.balance)).toEqual(queries.map((each) => (each === query ? 777n : undefined)));
    const infos = await chain.tokensInfo?.(
      queries.map(({ token }) => token),
      call(),
    );
    expect(infos?.map((info) => info === undefined)).toEqual(queries.map((each) => each !== query));
  });

  test.each([
    ['reverts in balanceOf', '60003560e01c6370a0823114601657600760005260206000f35b600080fd'],
    ['reverts in allowance', '60003560e01c63dd62ed3e14601657600760005260206000f35b600080fd'],
    ['returns 16 bytes', '600760005260106000f3'],
    ['returns nothing', '00'],
    ['uses up its gas', '5b600056'],
  ])('has no amounts of a token that %s', async (_name, code) => {
    const token: Hex = `0x${'67'.repeat(20)}`;
    await fixture.client.request({ method: 'anvil_setCode', params: [token, `0x${code}`] } as never); // as above
    const query = { owner: lower(SETTLEMENT), token, spender: lower(RELAYER) };
    const other = { ...query, token: lower(fixture.sellToken) };
    expect(await chain.balancesAndAllowances?.([query, other], call())).toEqual([
      undefined,
      { balance: expect.any(BigInt), allowance: expect.any(BigInt) },
    ]);
    expect(await chain.balanceAndAllowance?.(query, call())).toBeUndefined();
    expect(await chain.vaultFunds?.({ ...query, source: 'external' }, call())).toBeDefined(); // no vault on this chain
  });

  test('repeats a failed request once, in smaller ones', async () => {
    const query = { owner: lower(SETTLEMENT), token: lower(fixture.sellToken), spender: lower(RELAYER) };
    let requests = 0;
    const fail = () => {
      requests++;
      throw new Error('unreachable');
    };
    const dead = viemChain(client({ eth_call: fail }));
    await expect(dead.balancesAndAllowances?.(Array(100).fill(query), call())).rejects.toThrow('eth_call');
    expect(requests).toBe(2);
    await expect(dead.balanceAndAllowance?.(query, call())).rejects.toThrow('eth_call');
    expect(requests).toBe(3);
  });

  test('returns no value for an invalid or missing response of a node', async () => {
    const query = { owner: lower(SETTLEMENT), token: lower(fixture.sellToken), spender: lower(RELAYER) };
    for (const answer of ['0x', '0x1234', null, 7, {}, 'hello', undefined]) {
      const garbled = viemChain(client({ eth_call: () => answer }));
      await expect(garbled.balanceAndAllowance?.(query, call())).rejects.toThrow('the node returned');
    }
  });

  test('reports unreadable funds as a failure without the node address', async () => {
    const { createPublicClient, http } = await import('viem');
    const dead = createPublicClient({ transport: http('http://127.0.0.1:1/my-secret-key', { retryCount: 0 }) });
    const query = { owner: lower(SETTLEMENT), token: lower(fixture.sellToken), spender: lower(RELAYER) };
    const failure = await viemChain(dead).balanceAndAllowance?.(query, call()).then(String, String);
    expect(failure).toContain('eth_call');
    const { inspect } = await import('node:util');
    const whole = await viemChain(dead)
      .balanceAndAllowance?.(query, call())
      .catch((error: unknown) => inspect(error));
    expect(whole).not.toContain('my-secret-key');
  });
});

describe('viem chain contract signature', () => {
  const checkSignature = (
    owner: string,
    signature: Hex,
    of = chain,
    pre: Parameters<NonNullable<ChainClient['simulate']>>[0]['pre'] = [],
    allowDeployment = false,
  ) =>
    of.isValidSignature?.(
      { owner: lower(owner), digest: DIGEST, signature, pre, flashloan: undefined, allowDeployment },
      call(),
    );
  const wrap = (factory: ViemAddress, factoryData: Hex, signature: Hex) =>
    concatHex([
      encodeAbiParameters(
        [{ type: 'address' }, { type: 'bytes' }, { type: 'bytes' }],
        [factory, factoryData, signature],
      ),
      `0x${'6492'.repeat(16)}`,
    ]);

  test('is valid if the contract confirms it', async () => {
    const { abi, bytecode } = contract('Wallet');
    const wallet = await deploy(fixture.client, encodeDeployData({ abi, bytecode, args: [KEY.address] }));
    const signature = await KEY.sign({ hash: DIGEST });
    const result = await checkSignature(wallet, signature);
    expect(result).toEqual({ valid: true, gas: expect.any(Number) });
    const gas = result?.valid ? (result.gas ?? 0) : 0;
    expect(gas).toBeGreaterThan(3000); // of `ecrecover` alone
    expect(gas).toBeLessThan(100_000);
    expect(await checkSignature(wallet, concatHex([`0x${'11'.repeat(64)}`, '0x1b']))).toEqual({
      valid: false,
      reason: 'returned 0xffffffff',
    });
    expect(await checkSignature(wallet, '0x')).toEqual({ valid: false, reason: 'reverted or ran out of gas' });
    expect(await checkSignature(KEY.address, signature)).toEqual({
      valid: false,
      reason: 'no contract at this address',
    });
  });

  test.each<[name: string, kind: number, reason: string | undefined]>([
    ['does not terminate', 0, 'reverted or ran out of gas'],
    ['returns true in a hundred thousand bytes', 1, undefined],
    ['returns four bytes', 2, 'returned 4 bytes'],
    ['reverts', 3, 'reverted or ran out of gas'],
    ['returns the value of the first draft of ERC-1271', 4, 'returned 0x20c13b0b'],
    ['returns the value in the last bytes', 5, 'returned 0x00000000'],
    ['returns a boolean', 6, 'returned 0x00000000'],
    ['returns nothing', 7, 'returned 0 bytes'],
  ])('bounds the check of a contract that %s', async (_, kind, reason) => {
    const { abi, bytecode } = contract('Rogue');
    const rogue = await deploy(fixture.client, encodeDeployData({ abi, bytecode, args: [BigInt(kind)] }));
    expect(await checkSignature(rogue, '0x1234')).toEqual(
      reason === undefined ? { valid: true, gas: expect.any(Number) } : { valid: false, reason },
    );
  });

  test('of an account can include a contract that is not deployed yet (ERC-6492)', async () => {
    const { abi, bytecode } = contract('Wallet');
    const init = encodeDeployData({ abi, bytecode, args: [KEY.address] });
    const salt = keccak256(toHex('salt'));
    const factory: ViemAddress = '0x4e59b44847b379578588920cA78FbF26c0B4956C';
    const wallet = getContractAddress({ opcode: 'CREATE2', from: factory, salt, bytecode: init });
    const signature = await KEY.sign({ hash: DIGEST });
    const wrapped = wrap(factory, concatHex([salt, init]), signature);
    expect(await checkSignature(wallet, wrapped, chain, [], true)).toEqual({ valid: true, signature });
    expect(
      await checkSignature(wallet, wrap(factory, concatHex([salt, init]), '0x1234'), chain, [], true),
    ).toMatchObject({
      valid: false,
    });
    expect(await fixture.client.getCode({ address: wallet })).toBeUndefined();
    const blind = viemChain(client({ eth_simulateV1: unsupported }));
    await expect(checkSignature(wallet, wrapped, blind, [], true)).rejects.toThrow('cannot simulate the deployment');
    // The settlement contract cannot verify it, so an order cannot use it.
    const missing = { valid: false, reason: 'no contract at this address' };
    expect(await checkSignature(wallet, wrapped)).toEqual(missing);
  });

  test.each([false, true])('never runs a deployment for a contract that exists (allowed: %s)', async (allowed) => {
    const { abi, bytecode } = contract('TrustsSettlement');
    const wallet = await deploy(fixture.client, encodeDeployData({ abi, bytecode, args: [SETTLEMENT] }));
    const commit = encodeFunctionData({ abi, functionName: 'commit', args: [DIGEST] });
    expect(await checkSignature(wallet, wrap(wallet, commit, '0x1234'), chain, [], allowed)).toMatchObject({
      valid: false,
    });
  });

  test('runs a deployment without the authority of the settlement contract', async () => {
    const { abi, bytecode } = contract('TrustsSettlement');
    const trusting = await deploy(fixture.client, encodeDeployData({ abi, bytecode, args: [SETTLEMENT] }));
    const commit = encodeFunctionData({ abi, functionName: 'commit', args: [DIGEST] });
    const owner = lower(KEY.address);
    const simulated: unknown[] = [];
    const recording = viemChain(
      client({
        eth_simulateV1: (params) => {
          simulated.push(params);
          throw new Error('not needed');
        },
      }),
    );
    await checkSignature(owner, wrap(trusting, commit, '0x1234'), recording, [], true)?.catch(() => {});
    expect(simulated).toHaveLength(1);
    expect(JSON.stringify(simulated).toLowerCase()).not.toContain(`"from":"${lower(SETTLEMENT)}"`);
  });

  test('is checked after the pre-hooks of its order if the node supports it', async () => {
    const { abi, bytecode } = contract('Wallet');
    const init = encodeDeployData({ abi, bytecode, args: [KEY.address] });
    const salt = keccak256(toHex('another salt'));
    const factory: ViemAddress = '0x4e59b44847b379578588920cA78FbF26c0B4956C';
    const wallet = getContractAddress({ opcode: 'CREATE2', from: factory, salt, bytecode: init });
    const pre = [{ target: lower(factory), value: '0', callData: concatHex([salt, init]) }];
    const signature = await KEY.sign({ hash: DIGEST });
    expect(await checkSignature(wallet, signature)).toMatchObject({ valid: false });
    expect(await checkSignature(wallet, signature, chain, pre)).toEqual({ valid: true });
  });
});

describe('viem chain simulation', () => {
  async function wallet() {
    const { abi, bytecode } = contract('Wallet');
    const address = await deploy(fixture.client, encodeDeployData({ abi, bytecode, args: [KEY.address] }));
    const hash = await fixture.client.writeContract({
      address: fixture.sellToken,
      abi: ERC20,
      functionName: 'mint',
      args: [address, 500n],
      account: '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266',
      chain: sepolia,
    });
    await waitForReceipt(fixture.client, hash);
    const approve = encodeFunctionData({ abi: ERC20, functionName: 'approve', args: [RELAYER, 400n] });
    const callData = encodeFunctionData({ abi, functionName: 'call', args: [fixture.sellToken, approve] });
    return { address: lower(address), hook: { target: lower(address), value: '0', callData } };
  }

  test('observes the effects of hooks and whether the token can be transferred', async () => {
    const { address, hook } = await wallet();
    const query = { owner: address, token: lower(fixture.sellToken), spender: lower(RELAYER), flashloan: undefined };
    const simulate = (amount: bigint, pre = [hook], of = chain) => of.simulate?.({ ...query, amount, pre }, call());
    expect(await simulate(400n)).toEqual({ balance: 500n, allowance: 400n, transferRevert: undefined });
    expect(await simulate(401n)).toMatchObject({
      balance: 500n,
      allowance: 400n,
      transferRevert: expect.stringMatching(/^0x/),
    });
    expect(await simulate(1n, [])).toMatchObject({ balance: 500n, allowance: 0n });
    expect(await chain.balanceAndAllowance?.(query, call())).toEqual({ balance: 500n, allowance: 0n });
    // Without simulation only the balance is checked, because hooks can set the allowance.
    const blind = viemChain(client({ eth_simulateV1: unsupported }));
    expect(await simulate(400n, [hook], blind)).toEqual({
      balance: 500n,
      allowance: 2n ** 256n - 1n,
      transferRevert: undefined,
    });
  });

  /** The queries of an order whose wallet a hook deploys, and funds with a flash loan. */
  async function borrow() {
    const factory = lower(await deploy(fixture.client, contract('LoanFactory').bytecode));
    const token = lower(fixture.sellToken);
    const { abi, bytecode } = contract('LoanWallet');
    const salt = toHex(7, { size: 32 });
    const init = encodeDeployData({ abi, bytecode, args: [KEY.address, token, RELAYER] });
    const owner = lower(getContractAddress({ opcode: 'CREATE2', from: factory, salt, bytecode: init }));
    const args = [salt, KEY.address, token, RELAYER, 900n];
    const callData = encodeFunctionData({ abi: contract('LoanFactory').abi, functionName: 'deploy', args });
    const loan = { liquidityProvider: factory, protocolAdapter: factory, receiver: factory, token, amount: 1000n };
    const funds = { owner, token, spender: lower(RELAYER), amount: 900n };
    return { loan, funds, pre: [{ target: factory, value: '0', callData }] };
  }

  test('gives a flash loan to its receiver before the hooks, which deploy and fund the wallet', async () => {
    const { loan, funds, pre } = await borrow();
    const signature = await KEY.sign({ hash: DIGEST });
    const signed = { owner: funds.owner, digest: DIGEST, signature, pre };
    expect(await chain.simulate?.({ ...funds, pre, flashloan: loan }, call())).toEqual({
      balance: 900n,
      allowance: 2n ** 256n - 1n,
      transferRevert: undefined,
    });
    expect(await chain.isValidSignature?.({ ...signed, flashloan: loan }, call())).toEqual({ valid: true });
    // Without a loan, or with one that is too small, the hook reverts.
    for (const flashloan of [undefined, { ...loan, amount: 899n }, { ...loan, receiver: lower(RELAYER) }]) {
      expect(await chain.simulate?.({ ...funds, pre, flashloan }, call())).toMatchObject({ balance: 0n });
      expect(await chain.isValidSignature?.({ ...signed, flashloan }, call())).toMatchObject({ valid: false });
    }
  });

  test('treats a flash loan as absent if the node cannot list the slots of a balance', async () => {
    const { loan, funds, pre } = await borrow();
    const blind = viemChain(client({ eth_createAccessList: unsupported }));
    expect(await blind.simulate?.({ ...funds, pre, flashloan: loan }, call())).toMatchObject({ balance: 0n });
  });

  // The settlement contract accepts no data, or one word that is not zero (GPv2SafeERC20.sol).
  test.each([
    ['0x', true],
    [`0x${'0'.repeat(63)}1`, true],
    [`0x${'0'.repeat(63)}2`, true],
    [`0x${'0'.repeat(64)}`, false],
    ['0x01', false],
    [`0x${'0'.repeat(63)}1${'0'.repeat(64)}`, false],
  ])('treats the result %s of a transfer as the settlement contract does', async (returnData, isTransferred) => {
    const query = { owner: lower(SETTLEMENT), token: lower(fixture.sellToken), spender: lower(RELAYER) };
    const amount = { status: '0x1', returnData: `0x${'0'.repeat(63)}5` };
    const calls = [amount, amount, { status: '0x1', returnData }];
    const { transferRevert } =
      (await viemChain(client({ eth_simulateV1: () => [{ calls }] })).simulate?.(
        { ...query, flashloan: undefined, amount: 1n, pre: [] },
        call(),
      )) ?? {};
    expect(transferRevert).toBe(isTransferred ? undefined : returnData);
  });

  test('reverts for a token without code, which returns nothing to any call', async () => {
    const query = { owner: lower(SETTLEMENT), token: lower(fixture.sellToken), spender: lower(RELAYER) };
    const calls = Array.from({ length: 3 }, () => ({ status: '0x1', returnData: '0x' }));
    const chain = viemChain(client({ eth_simulateV1: () => [{ calls }] }));
    const result = await chain.simulate?.({ ...query, flashloan: undefined, amount: 1n, pre: [] }, call());
    expect(result?.transferRevert).toBe('0x');
  });

  test('reports a node that fails at it, or garbles the result, as a failure', async () => {
    const { address, hook } = await wallet();
    const query = { owner: address, token: lower(fixture.sellToken), spender: lower(RELAYER), flashloan: undefined };
    for (const answer of [null, [], [{}], [{ calls: [] }], [{ calls: [null, null, null, null] }]]) {
      const garbled = viemChain(client({ eth_simulateV1: () => answer }));
      await expect(garbled.simulate?.({ ...query, amount: 1n, pre: [hook] }, call())).rejects.toThrow('the node');
    }
  });
});

describe('vault funds', () => {
  const VAULT = '0xba12222222228d8ba445958a75a0704d566bf2c8';
  const OWNER = '0x00000000000000000000000000000000000000a1';
  const word = (value: bigint) => toHex(value, { size: 32 }).slice(2);

  /** Returns a node whose calls return lists of words, and the program that it received. */
  function vaultNode(results: readonly (readonly bigint[])[]) {
    const programs: string[] = [];
    const node: RpcClient = {
      async request({ params }) {
        programs.push(JSON.stringify(params));
        const records = results.map((words) => {
          const data = words.map(word).join('').padEnd(192, '0');
          return [1n, BigInt(32 * words.length), 1n, 0n].map(word).join('') + data;
        });
        return `0x${records.join('')}`;
      },
    };
    return { node, programs };
  }
  const query = (source: 'internal' | 'external') => ({
    owner: lower(OWNER),
    token: lower(SETTLEMENT),
    spender: lower(RELAYER),
    source,
  });

  test('of an internal balance are those of the vault, if the owner has approved the relayer', async () => {
    const { node, programs } = vaultNode([[1n], [32n, 1n, 777n]]);
    expect(await viemChain(node).vaultFunds?.(query('internal'), call())).toEqual({
      balance: 777n,
      allowance: 2n ** 256n - 1n,
    });
    expect(programs[0]).toContain(VAULT.slice(2));
    expect(await viemChain(vaultNode([[0n], [32n, 1n, 777n]]).node).vaultFunds?.(query('internal'), call())).toEqual({
      balance: 777n,
      allowance: 0n,
    });
  });

  test('of an external balance are those of the token, with its allowance for the vault', async () => {
    expect(await viemChain(vaultNode([[1n], [5n], [3n]]).node).vaultFunds?.(query('external'), call())).toEqual({
      balance: 5n,
      allowance: 3n,
    });
    expect(await viemChain(vaultNode([[0n], [5n], [3n]]).node).vaultFunds?.(query('external'), call())).toEqual({
      balance: 5n,
      allowance: 0n,
    });
  });

  test('are unknown if the token or the vault does not return an amount', async () => {
    const read = (source: 'internal' | 'external', ...results: readonly (readonly bigint[])[]) =>
      viemChain(vaultNode(results).node).vaultFunds?.(query(source), call());
    expect(await read('internal', [1n], [])).toBeUndefined();
    expect(await read('external', [1n], [], [3n])).toBeUndefined();
    expect(await read('external', [1n], [5n], [])).toBeUndefined();
  });

  test('are 0 on a chain without a vault', async () => {
    expect(await chain.vaultFunds?.(query('internal'), call())).toEqual({ balance: 0n, allowance: 0n });
  });
});

describe('sanctions oracle', () => {
  /** Returns a node whose contract call returns a word, and counts its requests. */
  function oracleNode(word: bigint, size = 32) {
    const requests: string[] = [];
    const node: RpcClient = {
      async request({ params }) {
        requests.push(JSON.stringify(params));
        return concatHex([1n, BigInt(size), 1n, 21_000n, word].map((value) => toHex(value, { size: 32 })));
      },
    };
    return { node, requests };
  }
  const DENIED = '0x00000000000000000000000000000000000000f1';
  const ORACLE = '0x40c57923924b5c5c5455c48d93317139addac8fb';

  test('queries the contract for each address once per cache period', async () => {
    const { node, requests } = oracleNode(1n);
    let now = 0;
    const isDenied = sanctionsOracle(node, ORACLE, { cacheTtl: 10, now: () => now });
    expect([await isDenied(DENIED, call()), await isDenied(DENIED, call())]).toEqual([true, true]);
    expect(requests).toHaveLength(1);
    expect(requests[0]).toContain(ORACLE.slice(2));
    expect(requests[0]).toContain(`df592f7d${DENIED.slice(2).padStart(64, '0')}`);
    now = 10_000;
    await isDenied(DENIED, call());
    expect(requests).toHaveLength(2);
    now = 5_000; // the clock was set back
    await isDenied(DENIED, call());
    expect(requests).toHaveLength(3);
    expect(await sanctionsOracle(oracleNode(0n).node, ORACLE)(DENIED, call())).toBe(false);
  });

  test('rejects a contract that is missing or returns no boolean', async () => {
    await expect(sanctionsOracle(oracleNode(2n).node, ORACLE)(DENIED, call())).rejects.toThrow('returned no boolean');
    await expect(sanctionsOracle(oracleNode(0n, 0).node, ORACLE)(DENIED, call())).rejects.toThrow(
      'returned no boolean',
    );
    expect(() => sanctionsOracle(oracleNode(0n).node, 'oracle')).toThrow('contract must be 0x and 40 hex digits');
  });

  test('runs on a real chain', async () => {
    const isDenied = sanctionsOracle(fixture.client, SETTLEMENT);
    await expect(isDenied(DENIED, call())).rejects.toThrow('returned no boolean');
  });
});
