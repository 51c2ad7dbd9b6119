import type { Address, BundleCall, Hex, StateChange, StorageChange } from 'intentbook';
import { parseHex } from '#internal';
import { callRpc, NodeError, parseQuantity, type RpcClient, record, toQuantity, toRpcCall } from './rpc.ts';

const ZERO: Hex = `0x${'00'.repeat(32)}`;

/** The state of an account after the transactions so far, in the form of state overrides. */
interface AccountOverride {
  balance?: unknown;
  nonce?: unknown;
  code?: unknown;
  stateDiff?: Record<Hex, Hex>;
}

/** Returns the changes of the state by each call. `undefined` if the node does not support tracing. */
export type StateTracer = (
  calls: readonly BundleCall[],
  /** The simulated block, in the form of the node. */
  block: Readonly<Record<string, unknown>>,
  signal: AbortSignal,
) => Promise<StateChange[][] | undefined>;

/**
 * Creates a tracer with `debug_traceCall` and `prestateTracer`. The changes of earlier calls are passed to the node as
 * state overrides, because it traces one call at a time.
 */
export function createStateTracer(client: RpcClient): StateTracer {
  return async (calls, { number, timestamp: time }, signal) => {
    // The simulated block follows the block that was the newest one. A newer one may have arrived.
    const base = toQuantity(parseQuantity(number) - 1);
    const overrides: Record<string, AccountOverride> = {};
    const changes: StateChange[][] = [];
    for (const call of calls) {
      try {
        const tracer = { tracer: 'prestateTracer', tracerConfig: { diffMode: true } };
        const options = { ...tracer, stateOverrides: overrides, blockOverrides: { number, time } };
        const trace = record(await callRpc(client, signal, 'debug_traceCall', [toRpcCall(call), base, options]));
        const [before, after] = [readAccounts(trace['pre']), readAccounts(trace['post'])];
        changes.push(compareStorage(before, after));
        addOverrides(overrides, before, after);
      } catch (error) {
        if (!(error instanceof NodeError) || !(error.unsupported || error.rejected)) throw error;
        return undefined;
      }
    }
    return changes;
  };
}

type Accounts = ReadonlyMap<Address, Readonly<Record<string, unknown>>>;

function readAccounts(value: unknown): Accounts {
  return new Map(Object.entries(record(value ?? {})).map(([address, account]) => [lower(address), record(account)]));
}

/** Returns the slots that differ, by contract. A slot that is missing on one side is zero there. */
function compareStorage(before: Accounts, after: Accounts): StateChange[] {
  return [...new Set([...before.keys(), ...after.keys()])].flatMap((address) => {
    const [from, to] = [readStorage(before.get(address)), readStorage(after.get(address))];
    const raw = [...new Set([...from.keys(), ...to.keys()])].flatMap((key): StorageChange[] => {
      const [original, dirty] = [from.get(key) ?? ZERO, to.get(key) ?? ZERO];
      return original === dirty ? [] : [{ address, key, original, dirty }];
    });
    return raw.length === 0 ? [] : [{ address, soltype: null, original: null, dirty: null, raw }];
  });
}

function readStorage(account: Readonly<Record<string, unknown>> | undefined): Map<Hex, Hex> {
  const entries = Object.entries(record(account?.['storage'] ?? {}));
  return new Map(entries.map(([key, value]) => [lower(key), parseHex(value, 32) ?? ZERO]));
}

function addOverrides(overrides: Record<string, AccountOverride>, before: Accounts, after: Accounts): void {
  for (const [address, account] of after) {
    const { balance, nonce, code } = account;
    const known = overrides[address] ?? {};
    overrides[address] = {
      ...known,
      ...(balance === undefined ? {} : { balance }),
      ...(nonce === undefined ? {} : { nonce: typeof nonce === 'number' ? `0x${nonce.toString(16)}` : nonce }),
      ...(code === undefined ? {} : { code }),
    };
  }
  for (const { address, raw } of compareStorage(before, after)) {
    const known = overrides[address] ?? {};
    const slots = Object.fromEntries(raw.map(({ key, dirty }) => [key, dirty]));
    overrides[address] = { ...known, stateDiff: { ...known.stateDiff, ...slots } };
  }
}

const lower = (text: string) => text.toLowerCase() as Hex; // hex of the node
