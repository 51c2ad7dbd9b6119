import type { Address, BundleSimulator } from 'intentbook';
import { createOrderBook } from 'intentbook';
import { createAccounts } from 'intentbook/accounts';
import { memoryAccountStore, memoryStore } from 'intentbook/memory';
import { tenderlySimulator } from 'intentbook/simulators';
import { describe, expect, it } from 'vitest';

const addressOf = (byte: string): Address => `0x${byte.repeat(20)}`;
const [TOKEN, ALICE, BOB] = [addressOf('aa'), addressOf('a1'), addressOf('b0')];
const KEY = `0x${'01'.repeat(32)}` as const;
const word = (value: number) => `0x${value.toString(16).padStart(64, '0')}` as const;
const signal = new AbortController().signal;
const call = { from: ALICE, to: TOKEN, input: '0x12', value: 5n } as const;

/** A simulator with a fixed response, and its requests. */
function simulatorWith(status: number, body: unknown) {
  const requests: { url: string; key: string | null; body: unknown }[] = [];
  const simulator = tenderlySimulator({
    chainId: 1,
    apiKey: 'secret',
    account: 'a b',
    project: 'p',
    fetch: async (url, init) => {
      const key = new Headers(init?.headers).get('x-access-key');
      requests.push({ url: String(url), key, body: JSON.parse(String(init?.body)) });
      return new Response(JSON.stringify(body), { status });
    },
  });
  return { simulator, requests };
}

const result = (id: string, from: number, to: number, amount: string) => ({
  simulation: { id, status: true },
  transaction: {
    gas_used: 21_000,
    transaction_info: {
      logs: [{ name: 'Transfer', raw: { address: TOKEN, topics: [KEY], data: '0x01' } }],
      asset_changes: [{ token_info: { contract_address: TOKEN }, from: ALICE, to: BOB, raw_amount: amount }],
      call_trace: {
        state_diff: [
          {
            address: TOKEN,
            soltype: null,
            original: null,
            dirty: null,
            raw: [{ address: TOKEN, key: KEY, original: word(from), dirty: word(to) }],
          },
          {
            address: TOKEN,
            soltype: { name: 'total', type: 'uint256' },
            original: String(from),
            dirty: String(to),
            raw: [],
          },
        ],
      },
    },
  },
});

describe('Tenderly simulator', () => {
  it('sends the bundle with a gas price of 0 and the key in a header', async () => {
    const { simulator, requests } = simulatorWith(200, { simulation_results: [result('x', 1, 2, '7')] });
    await simulator.simulate([call], { signal });
    const simulation = { network_id: '1', from: ALICE, to: TOKEN, input: '0x12', value: '5', gas: 10_000_000 };
    expect(requests).toEqual([
      {
        url: 'https://api.tenderly.co/api/v1/account/a%20b/project/p/simulate-bundle',
        key: 'secret',
        body: { simulations: [{ ...simulation, gas_price: '0', save: true, save_if_fails: true }] },
      },
    ]);
  });

  it('reports a rejected bundle, and any other status as a failure', async () => {
    const { simulator } = simulatorWith(400, { error: { message: 'no' } });
    expect(await simulator.simulate([call], { signal })).toEqual({ status: 'rejected' });
    const accepted = simulatorWith(200, { error: null, simulation_results: [result('x', 1, 2, '7')] }).simulator;
    expect(await accepted.simulate([call], { signal })).toMatchObject({ status: 'simulated' });
    await expect(simulatorWith(401, {}).simulator.simulate([call], { signal })).rejects.toThrow('status 401');
    const empty = simulatorWith(200, { simulation_results: [] }).simulator;
    await expect(empty.simulate([call], { signal })).rejects.toThrow('0 transactions instead of 1');
  });

  it.each([
    [{ chainId: 1, apiKey: '', account: 'a', project: 'p' }],
    [{ chainId: 1, apiKey: 'k', account: 'a', project: 'p', baseUrl: 'ftp://x' }],
    [{ chainId: '1' as never, apiKey: 'k', account: 'a', project: 'p' }],
  ])('requires valid options: %j', (options) => {
    expect(() => tenderlySimulator(options)).toThrow(TypeError);
  });
});

describe('accounts with a simulator', () => {
  async function simulate(simulator: BundleSimulator, bundle: unknown) {
    const book = createOrderBook({ chainId: 1, store: memoryStore() });
    await using accounts = createAccounts({ books: [book], store: memoryAccountStore(), simulators: { 1: simulator } });
    await book.start();
    await accounts.start();
    const results = await accounts.simulation.simulate(1, bundle).finally(() => book.close());
    return results;
  }

  it('add up balances and merge changes of the state over the bundle', async () => {
    const body = { simulation_results: [result('x', 1, 2, '7'), result('y', 2, 5, '10')] };
    const sent = { from: ALICE, to: TOKEN, input: '0x12' };
    const [first, second] = await simulate(simulatorWith(200, body).simulator, [sent, sent]);
    expect(first?.cumulativeBalancesDiff).toEqual({ [ALICE]: { [TOKEN]: '-7' }, [BOB]: { [TOKEN]: '7' } });
    expect(second?.cumulativeBalancesDiff).toEqual({ [ALICE]: { [TOKEN]: '-17' }, [BOB]: { [TOKEN]: '17' } });
    expect(first?.stateDiff.flatMap(({ raw }) => raw.map(({ dirty }) => dirty))).toEqual([word(2)]);
    expect(second?.stateDiff).toEqual([
      {
        address: TOKEN,
        soltype: null,
        original: null,
        dirty: null,
        raw: [{ address: TOKEN, key: KEY, original: word(1), dirty: word(5) }],
      },
      { address: TOKEN, soltype: { name: 'total', type: 'uint256' }, original: '1', dirty: '5', raw: [] },
    ]);
    const link = 'https://dashboard.tenderly.co/public/a%20b/p/simulator/y';
    expect(second).toMatchObject({ status: true, id: 'y', link, gasUsed: '21000', logs: [{ address: TOKEN }] });
  });

  it('respond 503 if the simulator fails or does not support bundles', async () => {
    const sent = { from: ALICE, to: TOKEN, input: '0x' };
    const failing: BundleSimulator = { name: 'x', simulate: () => Promise.reject(new Error('offline')) };
    await expect(simulate(failing, [sent])).rejects.toMatchObject({ status: 503, message: 'The simulation failed' });
    const old: BundleSimulator = { name: 'x', simulate: async () => ({ status: 'unsupported' }) };
    await expect(simulate(old, [sent])).rejects.toMatchObject({ status: 503 });
  });
});
