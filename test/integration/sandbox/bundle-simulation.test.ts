import type { SimulatedTransaction } from 'intentbook/accounts';
import type { Sandbox } from 'intentbook/sandbox';
import { createSandbox } from 'intentbook/sandbox';
import { viemSimulator } from 'intentbook/viem';
import type { Hex } from 'viem';
import {
  createTestClient,
  encodeFunctionData,
  http,
  keccak256,
  parseAbi,
  publicActions,
  toHex,
  walletActions,
} from 'viem';
import { sepolia } from 'viem/chains';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { waitForReceipt } from '../../support/anvil.ts';

const ABI = parseAbi([
  'function deposit() payable',
  'function withdraw(uint256)',
  'function approve(address,uint256) returns (bool)',
  'function balanceOf(address) view returns (uint256)',
  'function transfer(address,uint256) returns (bool)',
  'function swapExactTokensForTokens(uint256,uint256,address[],address,uint256) returns (uint256[])',
  'function swapTokensForExactTokens(uint256,uint256,address[],address,uint256) returns (uint256[])',
]);
const NATIVE = '0xeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee';
/** The router of every sandbox (deployment.ts). */
const ROUTER: Hex = `0x${keccak256(toHex('intentbook sandbox uniswap router')).slice(26)}`;
const STRANGER = `0x${'5a'.repeat(20)}` as const;
const FAR = 4_000_000_000n;
const ETHER = 10n ** 18n;

interface Transaction {
  readonly from: Hex;
  readonly to: Hex;
  readonly input: Hex;
  readonly value?: string;
  readonly gas?: number;
}

let sandbox: Sandbox;
let client: ReturnType<typeof connect>;
const connect = (url: string) =>
  createTestClient({ mode: 'anvil', chain: sepolia, transport: http(url) })
    .extend(publicActions)
    .extend(walletActions);
beforeAll(async () => {
  sandbox = await createSandbox({ solver: 'off' });
  client = connect(sandbox.rpcUrl ?? '');
});
afterAll(() => sandbox.close());

const encode = (functionName: (typeof ABI)[number]['name'], ...args: readonly unknown[]) =>
  encodeFunctionData({ abi: ABI, functionName, args } as never); // checked when it is executed

async function simulate(bundle: unknown) {
  const response = await fetch(`${sandbox.url}/${sandbox.chainId}/simulation/simulateBundle`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(bundle),
  });
  return { status: response.status, body: (await response.json()) as SimulatedTransaction[] & { message?: string } };
}

const balanceOf = (token: string, account: Hex) =>
  token === NATIVE
    ? client.getBalance({ address: account })
    : client.readContract({ address: token as Hex, abi: ABI, functionName: 'balanceOf', args: [account] });

/** Mines a transaction at a time, without a price of gas. A transaction that reverts is mined as well. */
async function mine({ from, to, input, value = '0' }: Transaction, timestamp: bigint) {
  await client.setNextBlockBaseFeePerGas({ baseFeePerGas: 0n });
  await client.setNextBlockTimestamp({ timestamp });
  const hash = await client.sendTransaction({
    account: from,
    to,
    data: input,
    value: BigInt(value),
    gas: 5_000_000n,
    gasPrice: 0n,
  });
  return waitForReceipt(client, hash);
}

describe('a simulated bundle on anvil', () => {
  it('has the balances, the gas, the logs and the storage of the mined transactions', async () => {
    const { address } = await sandbox.createTrader({ ETH: '10', WETH: '2' });
    const from = address.toLowerCase() as Hex;
    const [weth, usdc, dai] = ['WETH', 'USDC', 'DAI'].map((symbol) => sandbox.token(symbol).address) as [Hex, Hex, Hex];
    const bundle: Transaction[] = [
      { from, to: weth, input: encode('deposit'), value: String(3n * ETHER) },
      { from, to: weth, input: encode('approve', ROUTER, 4n * ETHER) },
      { from, to: ROUTER, input: encode('swapExactTokensForTokens', ETHER, 1n, [weth, usdc], from, FAR) },
      { from, to: ROUTER, input: encode('swapTokensForExactTokens', 100n * ETHER, 3n * ETHER, [weth, dai], from, FAR) },
      { from, to: ROUTER, input: encode('swapExactTokensForTokens', 100n * ETHER, 1n, [weth, usdc], from, FAR) },
      { from, to: usdc, input: encode('transfer', STRANGER, 1_000_000n) },
      { from, to: weth, input: encode('withdraw', ETHER / 2n) },
      { from, to: STRANGER, input: '0x', value: '12345' },
    ];
    const { status, body: results } = await simulate(bundle);
    // The pools record the time of the block. Anvil simulates at the time of the newest block.
    const time = (await client.getBlock()).timestamp;
    expect([status, results.length]).toEqual([200, bundle.length]);

    const last = results.at(-1);
    const changed = Object.entries(last?.cumulativeBalancesDiff ?? {}).flatMap(([account, tokens]) =>
      Object.keys(tokens).map((token) => ({ account: account as Hex, token })),
    );
    const before = await Promise.all(changed.map(({ account, token }) => balanceOf(token, account)));
    for (const [i, transaction] of bundle.entries()) {
      const receipt = await mine(transaction, time);
      const result = results[i];
      expect([i, result?.status]).toEqual([i, receipt.status === 'success']);
      const gas = Number(receipt.gasUsed);
      expect(Math.abs(Number(result?.gasUsed) - gas) / gas, `gas of transaction ${i}`).toBeLessThan(0.01);
      expect(result?.logs).toEqual(
        receipt.logs.map(({ address: contract, topics, data }) => ({ address: contract, topics, data })),
      );
      for (const [n, { account, token }] of changed.entries()) {
        const difference = (await balanceOf(token, account)) - (before[n] ?? 0n);
        expect([i, account, token, result?.cumulativeBalancesDiff[account]?.[token as Hex] ?? '0']).toEqual([
          i,
          account,
          token,
          String(difference),
        ]);
      }
    }
    // The trader, both pools, the stranger and the wrapped currency, with their tokens.
    expect(changed.length).toBeGreaterThan(9);
    expect(results.map((each) => each.status)).toEqual([true, true, true, true, false, true, true, true]);

    const slots = last?.stateDiff.flatMap(({ raw }) => raw) ?? [];
    expect(slots.length).toBeGreaterThan(8);
    for (const { address: contract, key, dirty } of slots) {
      expect([contract, key, await client.getStorageAt({ address: contract, slot: key })]).toEqual([
        contract,
        key,
        dirty,
      ]);
    }
  });

  it('changes nothing on the chain', async () => {
    const { address } = await sandbox.createTrader();
    const from = address.toLowerCase() as Hex;
    const block = await client.getBlockNumber();
    const { status } = await simulate([{ from, to: STRANGER, input: '0x', value: '7' }]);
    expect([status, await client.getBlockNumber()]).toEqual([200, block]);
  });

  it('responds 400 if a sender lacks the value that it sends', async () => {
    const { status, body } = await simulate([{ from: STRANGER, to: ROUTER, input: '0x', value: String(10n ** 30n) }]);
    expect([status, body]).toEqual([400, { message: 'Build simulation error' }]);
  });

  const call = { from: STRANGER, to: STRANGER, input: '0x' };
  it.each([
    ['an unknown key', [{ ...call, data: '0x' }], '0 has the unknown key "data"'],
    ['more than 20 transactions', Array.from({ length: 21 }, () => call), 'the body must have 1 to 20 transactions'],
    ['no transaction', [], 'the body must have 1 to 20 transactions'],
    ['hex with an odd number of digits', [{ ...call, input: '0x123' }], '0.input must be 0x and pairs of hex digits'],
    ['a malformed address', [{ ...call, to: '0x12' }], '0.to must be 0x and 40 hex digits'],
    ['too much gas', [{ ...call, gas: 30_000_001 }], '0.gas must be a whole number from 1 to 30000000'],
    ['a negative value', [{ ...call, value: '-1' }], '0.value must be an amount of wei'],
    ['a value above 256 bits', [{ ...call, value: String(2n ** 256n) }], '0.value must be an amount of wei'],
    ['an object', call, 'the body must be an array, got an object'],
  ])('rejects a bundle with %s', async (_, bundle, message) => {
    const { status, body } = await simulate(bundle);
    expect([status, body.message]).toEqual([400, expect.stringContaining(message)]);
  });
});

describe('simulator on a node', () => {
  const call = { from: STRANGER, to: STRANGER, input: '0x', value: 0n } as const;
  const signal = new AbortController().signal;
  const node = (answers: Readonly<Record<string, () => unknown>>) => ({
    async request({ method, params }: { method: string; params?: unknown }) {
      const answer = answers[method];
      return answer === undefined ? client.request({ method, params } as never) : answer(); // any method
    },
  });
  const missing = () => {
    throw Object.assign(new Error('the method does not exist'), { code: -32601 });
  };

  it('reports a node without eth_simulateV1', async () => {
    const simulator = viemSimulator(node({ eth_simulateV1: missing }));
    expect(await simulator.simulate([call], { signal })).toEqual({ status: 'unsupported' });
  });

  it('returns no changes of the state if the node has no tracer', async () => {
    const outcome = await viemSimulator(node({ debug_traceCall: missing })).simulate([call], { signal });
    expect(outcome).toMatchObject({ status: 'simulated', results: [{ success: true, stateChanges: [] }] });
  });

  it('traces changes from the block of the simulation, although a newer one arrives', async () => {
    const { address } = await sandbox.createTrader({ ETH: '10' });
    const from = address.toLowerCase() as Hex;
    const deposit = { from, to: sandbox.token('WETH').address as Hex, input: encode('deposit'), value: ETHER };
    const simulator = viemSimulator({
      async request(args) {
        if (args.method === 'debug_traceCall') {
          await mine({ ...deposit, value: String(ETHER) }, (await client.getBlock()).timestamp + 1n);
        }
        return client.request(args as never); // any method
      },
    });
    const outcome = await simulator.simulate([deposit], { signal });
    const toWord = (value: bigint) => toHex(value, { size: 32 });
    const slots = outcome.status === 'simulated' ? outcome.results[0]?.stateChanges.flatMap(({ raw }) => raw) : [];
    expect(slots).toEqual([expect.objectContaining({ original: toWord(0n), dirty: toWord(ETHER) })]);
  });

  it('rejects if the node cannot be reached', async () => {
    const offline = node({
      eth_simulateV1() {
        throw new Error('fetch failed');
      },
    });
    await expect(viemSimulator(offline).simulate([call], { signal })).rejects.toThrow('eth_simulateV1');
  });
});
