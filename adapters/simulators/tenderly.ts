import type {
  Address,
  BundleCall,
  BundleCallResult,
  BundleSimulator,
  Hex,
  SimulatedLog,
  StateChange,
  TokenTransfer,
} from 'intentbook';
import {
  assertKnownOptions,
  createHeaders,
  createServiceFetch,
  getEndpoint,
  NATIVE_MARKER,
  parseHex,
  parseServiceUrl,
  readResponseText,
  requireChainOption,
} from '#internal';

/** Options of the simulator on Tenderly. */
export interface TenderlyOptions {
  readonly chainId: number;
  readonly apiKey: string;
  /** Name of the account or organisation. */
  readonly account: string;
  readonly project: string;
  /**
   * Another base URL, such as a proxy. A user and a password in it are sent as a Basic `Authorization` header only.
   * Default: https://api.tenderly.co.
   */
  readonly baseUrl?: string;
  /** Implementation of `fetch`. Default: the global one. */
  readonly fetch?: typeof fetch;
}

const BASE_URL = 'https://api.tenderly.co';

/** Base URL of the public pages. */
const PAGES = 'https://dashboard.tenderly.co/public';

/** Maximum size of a response, in bytes. Call traces of a bundle are large. */
const MAX_BYTES = 32 * 1024 * 1024;

/** Gas limit of a transaction that has none. */
const GAS = 10_000_000;

/**
 * Creates a simulator of bundles on Tenderly. Each simulation is saved and has a public page. Any response status
 * besides 200 and 400 is a failure. Redirects are not followed.
 *
 * @throws TypeError if an option is unknown or malformed.
 */
export function tenderlySimulator(options: TenderlyOptions): BundleSimulator {
  assertKnownOptions('tenderlySimulator', options, ['chainId', 'apiKey', 'account', 'project', 'baseUrl', 'fetch']);
  const { chainId, apiKey, account, project, baseUrl = BASE_URL } = options;
  const send = createServiceFetch(options.fetch);
  for (const [name, value] of Object.entries({ apiKey, account, project })) {
    if (typeof value !== 'string' || value === '') throw new TypeError(`tenderlySimulator: ${name} must be text`);
  }
  requireChainOption('tenderlySimulator: chainId', chainId);
  const service = parseServiceUrl('tenderlySimulator', baseUrl, 'baseUrl');
  const where = `${encodeURIComponent(account)}/project/${encodeURIComponent(project)}`;
  const url = getEndpoint(service, `api/v1/account/${where}/simulate-bundle`);
  const page = `${PAGES}/${encodeURIComponent(account)}/${encodeURIComponent(project)}/simulator`;
  const json = { accept: 'application/json', 'content-type': 'application/json' };
  const key = { 'x-access-key': apiKey };
  const headers = createHeaders('tenderlySimulator: apiKey', json, service.authorization, key);

  return {
    name: 'Tenderly',
    async simulate(calls, { signal }) {
      const body = JSON.stringify({ simulations: calls.map((call) => toSimulation(chainId, call)) });
      const response = await send(url, { method: 'POST', body, headers, signal });
      if (response.status !== 200 && response.status !== 400) {
        await response.body?.cancel();
        throw new Error(`Tenderly responded with status ${response.status}`);
      }
      const parsed = toRecord(JSON.parse(await readResponseText(response, MAX_BYTES)));
      if (parsed['error'] != null) return { status: 'rejected' };
      const results = toList(parsed['simulation_results']).map((result) => parseResult(toRecord(result), page));
      if (results.length === calls.length) return { status: 'simulated', results };
      throw new Error(`Tenderly simulated ${results.length} transactions instead of ${calls.length}`);
    },
  };
}

function toSimulation(chainId: number, { from, to, input, value, gas = GAS }: BundleCall) {
  const saved = { save: true, save_if_fails: true };
  return { network_id: String(chainId), from, to, input, value: String(value), gas, gas_price: '0', ...saved };
}

type Members = Readonly<Record<string, unknown>>;

function parseResult(result: Members, page: string): BundleCallResult {
  const simulation = toRecord(result['simulation']);
  const transaction = toRecord(result['transaction'] ?? {});
  const info = toRecord(transaction['transaction_info'] ?? {});
  const { gas_used: gasUsed } = transaction;
  const { id } = simulation;
  return {
    success: simulation['status'] === true,
    ...(typeof gasUsed === 'number' && { gasUsed }),
    logs: toList(info['logs'] ?? []).flatMap(parseLog),
    transfers: toList(info['asset_changes'] ?? []).flatMap(parseTransfer),
    stateChanges: toList(toRecord(info['call_trace'] ?? {})['state_diff'] ?? []).map(parseChange),
    ...(typeof id === 'string' && { id, link: `${page}/${encodeURIComponent(id)}` }),
  };
}

function parseLog(value: unknown): SimulatedLog[] {
  const { address, topics, data } = toRecord(toRecord(value)['raw'] ?? {});
  const contract = parseHex(address, 20);
  if (contract === undefined) return [];
  const words = toList(topics ?? []).flatMap((topic) => parseHex(topic, 32) ?? []);
  return [{ address: contract, topics: words, data: parseHex(data ?? '0x') ?? '0x' }];
}

const ZERO: Address = `0x${'00'.repeat(20)}`;

function parseTransfer(value: unknown): TokenTransfer[] {
  const { token_info: token, from, to, raw_amount: amount } = toRecord(value);
  const { contract_address: contract } = toRecord(token ?? {});
  if (typeof amount !== 'string' || !/^\d{1,78}$/.test(amount)) return [];
  const address = parseHex(contract, 20) ?? NATIVE_MARKER;
  return [{ token: address, from: parseHex(from, 20) ?? ZERO, to: parseHex(to, 20) ?? ZERO, amount: BigInt(amount) }];
}

function parseChange(value: unknown): StateChange {
  const { address, soltype, original, dirty, raw } = toRecord(value);
  const slots = toList(raw ?? []).map((slot) => {
    const { address: contract, key, original: before, dirty: after } = toRecord(slot);
    return {
      address: parseHex(contract, 20) ?? ZERO,
      key: toHex(key),
      original: toHex(before),
      dirty: toHex(after),
    };
  });
  const { name, type } = toRecord(soltype ?? {});
  const variable = typeof name === 'string' && typeof type === 'string' ? { name, type } : null;
  return {
    address: parseHex(address, 20) ?? slots[0]?.address ?? ZERO,
    soltype: variable,
    original: original ?? null,
    dirty: dirty ?? null,
    raw: slots,
  };
}

const toHex = (value: unknown): Hex => parseHex(value) ?? '0x';

function toRecord(value: unknown): Members {
  if (typeof value === 'object' && value !== null) return value as Members; // members have any type
  throw new Error('the response of Tenderly must have objects');
}

function toList(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value;
  throw new Error('the response of Tenderly must have lists');
}
