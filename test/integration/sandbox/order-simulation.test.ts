import type { Sandbox } from 'intentbook/sandbox';
import { createSandbox } from 'intentbook/sandbox';
import { appDataDocument } from 'intentbook/sign';
import type { RpcClient } from 'intentbook/viem';
import { viemOrderSimulator } from 'intentbook/viem';
import { createPublicClient, encodeFunctionData, erc20Abi, http } from 'viem';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { getContracts } from '../../../apps/sandbox/deployment.ts';

/** The contract that makes the calls of hooks (HooksTrampoline.sol). */
const TRAMPOLINE = '0x60bf78233f48ec42ee3f101b9a05ec7878728006';

const TERMS = { sell: ['1', 'WETH'], for: ['2000', 'USDC'] } as const;

/** A block of `eth_simulateV1`. */
interface SimulatedBlock {
  readonly calls: readonly { readonly gas: string }[];
  readonly blockOverrides?: { readonly gasLimit: string };
}

let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await createSandbox({ solver: 'manual' });
});
afterAll(() => sandbox.close());

async function send(path: string, body?: object, token = sandbox.operatorToken) {
  const response = await fetch(`${sandbox.url}/restricted/api/v1/debug${path}`, {
    headers: { authorization: `Bearer ${token}`, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { method: 'POST', body: JSON.stringify(body) }),
  });
  // The body of a response of the interface.
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

describe('simulation of an order', () => {
  it('succeeds for a funded order and changes nothing', async () => {
    const trader = await sandbox.createTrader({ WETH: '1' });
    const uid = await trader.placeOrder(TERMS);
    const { status, body } = await send(`/simulation/${uid}`);
    expect([status, body]).toEqual([
      200,
      {
        error: null,
        tenderly_request: {
          network_id: String(sandbox.chainId),
          block_number: expect.any(Number),
          transaction_index: 0,
          from: expect.stringMatching(/^0x/),
          to: sandbox.settlementContract,
          input: expect.stringMatching(/^0x13d79a0b/),
          gas: expect.any(Number),
          simulation_type: 'full',
          save: true,
          save_if_fails: true,
          state_objects: {
            [sandbox.token('USDC').address]: { storage: expect.any(Object) },
            [getContracts(sandbox.chainId, sandbox.tokens).authenticator]: { code: expect.stringMatching(/^0x/) },
          },
        },
      },
    ]);
    expect((await sandbox.book.orders.get(uid))?.status).toBe('open');
    expect(await trader.balanceOf('WETH')).toBe(10n ** 18n);
  });

  it('returns the reason of the revert, and that of an earlier block', async () => {
    const trader = await sandbox.createTrader({ WETH: '1' });
    const uid = await trader.placeOrder(TERMS);
    await trader.approve('WETH', '1');
    const before = (await send(`/simulation/${uid}`)).body['tenderly_request'] as { block_number: number };
    const block = before.block_number - 1;
    // The sandbox writes allowances into the state of the newest block, so each one needs a block.
    await sandbox.mine(1);
    await trader.approve('WETH', '0');
    await sandbox.mine(1);
    expect((await send(`/simulation/${uid}`)).body).toMatchObject({ error: expect.stringContaining('reverted') });
    const past = await send(`/simulation/${uid}?block_number=${block}`);
    expect(past.body).toMatchObject({ error: null, tenderly_request: { block_number: block + 1 } });
  });

  it('fills the rest of an order that is filled in part', async () => {
    const trader = await sandbox.createTrader({ WETH: '1' });
    const uid = await trader.placeOrder(TERMS, { partiallyFillable: true });
    await sandbox.settle(uid, { fill: 0.5 });
    expect((await send(`/simulation/${uid}`)).body).toMatchObject({ error: null });
  });

  it('succeeds for an order that buys native currency, with hooks, and of a contract wallet', async () => {
    const trader = await sandbox.createTrader({ USDC: '3000' });
    const hook = { target: trader.address, callData: '0x', gasLimit: 50_000 } as const;
    const native = await trader.placeOrder(
      { buy: ['1', 'ETH'], with: ['2600', 'USDC'] },
      { appData: appDataDocument({ hooks: { pre: [hook], post: [hook] } }) },
    );
    const wallet = await sandbox.createSmartWallet({ WETH: '1' });
    const contract = await wallet.placeOrder(TERMS, { scheme: 'eip1271' });
    for (const uid of [native, contract])
      expect((await send(`/simulation/${uid}`)).body).toMatchObject({ error: null });
  });

  it('accepts an order that is not stored', async () => {
    const trader = await sandbox.createTrader({ WETH: '1' });
    const uid = await trader.placeOrder(TERMS);
    const order = await sandbox.book.orders.get(uid);
    const { appData: appDataHash, fullAppData: appData, ...fields } = order ?? {};
    const body = { ...fields, appData: appData ?? appDataHash };
    expect((await send('/simulation', body)).body).toMatchObject({ error: null });
    expect((await send('/simulation', { ...body, buyAmount: '7' })).body).toMatchObject({ error: expect.any(String) });
    expect((await send('/simulation', { ...body, kind: 'swap' })).status).toBe(422);
    expect((await send('/simulation', { ...body, blockNumber: 'latest' })).status).toBe(400);
  });

  it('rejects a missing owner, malformed app data and a fee', async () => {
    const { owner, ...unnamed } = { ...(await sandbox.book.orders.list({ limit: 1 })).orders[0], appData: '{}' };
    const codeOf = async (changes: object) => {
      const { status, body } = await send('/simulation', { ...unnamed, ...changes });
      return [status, body['errorType']];
    };
    expect(await codeOf({ signingScheme: 'presign', signature: '0x' })).toEqual([400, 'MissingFrom']);
    expect(await codeOf({ owner, appData: 'no JSON' })).toEqual([400, 'InvalidAppData']);
    expect(await codeOf({ owner, feeAmount: '1' })).toEqual([400, 'NonZeroFee']);
  });

  it('has the tokens of a flash loan, with which a book accepts an order of an owner without funds', async () => {
    const trader = await sandbox.createTrader({});
    await trader.approve('WETH', '1');
    const { address: token } = sandbox.token('WETH');
    const args = [trader.address, 10n ** 18n] as const;
    const callData = encodeFunctionData({ abi: erc20Abi, functionName: 'transfer', args });
    const hooks = { pre: [{ target: token, callData, gasLimit: 100_000 }] };
    const parties = { liquidityProvider: token, protocolAdapter: token, receiver: TRAMPOLINE };
    const flashloan = { ...parties, token, amount: String(10n ** 18n) };
    const place = (metadata: Readonly<Record<string, unknown>>) =>
      trader.placeOrder(TERMS, { appData: appDataDocument({ hooks, metadata }) });
    const uid = await place({ flashloan });
    expect((await send(`/simulation/${uid}`)).body).toMatchObject({ error: null });
    for (const metadata of [{}, { flashloan: { ...flashloan, amount: '1' } }])
      await expect(place(metadata)).rejects.toMatchObject({ code: 'InsufficientBalance' });
  });

  it('is for operators, and for known orders', async () => {
    const unknown = `0x${'00'.repeat(56)}`;
    expect((await send(`/simulation/${unknown}`)).status).toBe(404);
    expect((await send(`/simulation/${unknown}`, undefined, 'wrong')).status).toBe(403);
    expect((await send('/simulation', {}, 'wrong')).status).toBe(403);
  });

  /** Places an order, and returns its simulation by a client of the node. */
  async function placeToSimulate(request: RpcClient['request']) {
    const simulator = viemOrderSimulator({ request });
    const trader = await sandbox.createTrader({ WETH: '1' });
    const uid = await trader.placeOrder(TERMS);
    const stored = await sandbox.book.orders.get(uid);
    if (stored === undefined) throw new Error('the order is not stored');
    const { owner, signingScheme, signature, interactions } = stored;
    const amounts = { sellAmount: BigInt(stored.sellAmount), buyAmount: BigInt(stored.buyAmount), feeAmount: 0n };
    const toSimulate = {
      order: { ...stored, ...amounts },
      owner,
      signingScheme,
      signature,
      interactions,
      flashloan: undefined,
      executed: amounts.sellAmount,
      settlementContract: sandbox.settlementContract,
    };
    const call = { signal: new AbortController().signal };
    return { trader, simulate: () => simulator.simulate(toSimulate, call) };
  }

  const askNode = (args: { readonly method: string }) => {
    const client = createPublicClient({ transport: http(sandbox.rpcUrl) });
    return client.request(args as never); // viem's types list the known methods
  };

  it('is independent of the gas limit of a block', async () => {
    const { simulate } = await placeToSimulate((args) => {
      if (args.method !== 'eth_simulateV1') return askNode(args);
      // As geth: a call must fit in the gas limit of the block, which is small on some chains.
      const [{ blockStateCalls }] = args.params as [{ blockStateCalls: [SimulatedBlock] }]; // of the adapter
      const [{ calls, blockOverrides }] = blockStateCalls;
      const limit = Number(blockOverrides?.gasLimit ?? 17_000_000);
      if (calls.every(({ gas }) => Number(gas) <= limit)) return askNode(args);
      return Promise.reject(Object.assign(new Error('block gas limit reached: 0 >= 17000000'), { code: -38015 }));
    });
    expect(await simulate()).toMatchObject({ status: 'simulated', error: null });
  });

  it('uses eth_call on a node without eth_simulateV1', async () => {
    const seen: string[] = [];
    const { trader, simulate } = await placeToSimulate((args) => {
      seen.push(args.method);
      if (args.method !== 'eth_simulateV1') return askNode(args);
      return Promise.reject(Object.assign(new Error('method not found'), { code: -32601 }));
    });
    expect(await simulate()).toMatchObject({ status: 'simulated', error: null });
    await trader.approve('WETH', '0');
    expect(await simulate()).toMatchObject({
      status: 'simulated',
      error: expect.stringMatching(/revert/),
    });
    expect(seen).toContain('eth_call');
  });

  it('is not available without a node', async () => {
    await using simulated = await createSandbox({ chain: 'simulated', solver: 'manual' });
    const trader = await simulated.createTrader({ WETH: '1' });
    const result = await simulated.book.orders.simulate(await trader.placeOrder(TERMS));
    expect(result).toMatchObject({ status: 'rejected', error: { code: 'MethodNotAllowed', status: 405 } });
  });
});

describe('debug report of an order', () => {
  it('shows events, competitions and trades', async () => {
    const trader = await sandbox.createTrader({ WETH: '1' });
    const uid = await trader.placeOrder(TERMS);
    expect((await send(`/order/${uid}`)).body).toMatchObject({
      simulation: { blockNumber: expect.any(Number), error: null },
    });
    await sandbox.settle(uid);
    const [trade] = await sandbox.book.trades.list({ orderUid: uid });
    expect((await send(`/order/${uid}`)).body).toMatchObject({
      order: { uid, status: 'fulfilled' },
      trades: [{ orderUid: uid }],
      events: [{ label: 'created' }, { label: 'traded', txHash: trade?.txHash }],
      isComplete: true,
      auctions: [{ id: expect.any(Number), proposedSolutions: [{ isWinner: true }], executions: [{}] }],
      simulation: null,
    });
    expect((await send(`/order/0x${'00'.repeat(56)}`)).status).toBe(404);
  });
});
