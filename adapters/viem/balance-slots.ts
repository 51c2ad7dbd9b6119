import type { Address, Hex } from 'intentbook';
import { bytesToHex, hexToBytes, keccak256 } from '#internal';
import { callRpc, list, NodeError, parseHexResult, type RpcClient, record } from './rpc.ts';

/** A storage slot that contains a balance. */
export interface BalanceSlot {
  /** The contract with the storage: the token, or a contract that keeps the balances for it. */
  readonly contract: Address;
  readonly key: Hex;
}

/** Finds the storage slots of balances. */
export type BalanceSlots = ReturnType<typeof createBalanceSlots>;

/** The rule from which the slot of each holder derives: a mapping at a position, in the layout of a compiler. */
interface MappingRule {
  readonly contract: Address;
  readonly position: bigint;
  readonly layout: 'solidity' | 'vyper';
}

/** Number of tokens whose result is kept. The oldest are forgotten first. */
const CACHE_SIZE = 1_000;

/** Positions of mappings that are compared with a slot. */
const POSITIONS: readonly bigint[] = [
  ...Array.from({ length: 128 }, (_, i) => BigInt(i)),
  // ERC-7201 location of the ERC-20 storage of OpenZeppelin's upgradeable contracts.
  0x52c63247e1f47db19d5ce0460030c497f067ca4cebf71ba98eeadabe20bace00n,
];

/** A balance that no account has. */
const PROBE = 0x5ca1ab1e_0ddba11n;

/** Maximum number of slots of a token that are tried. */
const MAX_CANDIDATES = 16;

const BALANCE_OF = '0x70a08231';

/** Matches the error of a node for a call that was executed and failed. */
const EXECUTION_ERROR = /revert|out ?of ?gas|opcode|invalid jump|stack (?:under|over)flow|evm error|vm ex/i;

/**
 * Creates a finder of balance slots. `eth_createAccessList` lists the slots that `balanceOf` reads; `eth_call` with a
 * state override shows which of them is the balance. The rule of a token is kept, so that other holders need no query.
 */
export function createBalanceSlots(client: RpcClient) {
  const rules = new Map<Address, MappingRule>();
  const failures = new Set<string>();

  async function listReads(token: Address, data: Hex, signal: AbortSignal): Promise<BalanceSlot[]> {
    const result = record(await callRpc(client, signal, 'eth_createAccessList', [{ to: token, data }, 'latest']));
    // Geth and Erigon write an empty list as null.
    return list(result['accessList'] ?? []).flatMap((entry) => {
      const { address, storageKeys } = record(entry);
      const contract = parseHexResult(address, 20);
      return list(storageKeys ?? []).map((key) => ({ contract, key: parseHexResult(key, 32) }));
    });
  }

  async function isBalance(token: Address, data: Hex, { contract, key }: BalanceSlot, signal: AbortSignal) {
    const overrides = { [contract]: { stateDiff: { [key]: toWord(PROBE) } } };
    try {
      const result = await callRpc(client, signal, 'eth_call', [{ to: token, data }, 'latest', overrides]);
      return parseHexResult(result) === toWord(PROBE);
    } catch (error) {
      // Another variable of the token, without which it fails. A failure of the node must not be cached.
      if (error instanceof NodeError && EXECUTION_ERROR.test(error.message)) return false;
      throw error;
    }
  }

  async function search(token: Address, holder: Address, signal: AbortSignal): Promise<BalanceSlot | undefined> {
    const data: Hex = `${BALANCE_OF}${holder.slice(2).padStart(64, '0')}`;
    const reads = await listReads(token, data, signal);
    for (const slot of reads.slice(0, MAX_CANDIDATES)) if (await isBalance(token, data, slot, signal)) return slot;
    return undefined;
  }

  return {
    /** Returns the slot of a balance. `undefined` if the balance is not stored as one plain number. */
    async find(token: Address, holder: Address, signal: AbortSignal): Promise<BalanceSlot | undefined> {
      const rule = rules.get(token);
      if (rule !== undefined) return { contract: rule.contract, key: getKey(rule, holder) };
      const name = `${token} ${holder}`;
      if (failures.has(name)) return undefined;
      const slot = await search(token, holder, signal);
      const found = slot && findRule(slot, holder);
      if (found !== undefined) {
        rules.set(token, found);
        const [oldest] = rules.keys();
        if (rules.size > CACHE_SIZE && oldest !== undefined) rules.delete(oldest);
      }
      if (slot === undefined) {
        failures.add(name);
        const [oldest] = failures;
        if (failures.size > CACHE_SIZE && oldest !== undefined) failures.delete(oldest);
      }
      return slot;
    },
  };
}

/** Finds the mapping whose slot for a holder is the given one. */
function findRule({ contract, key }: BalanceSlot, holder: Address): MappingRule | undefined {
  for (const position of POSITIONS) {
    for (const layout of ['solidity', 'vyper'] as const) {
      const rule = { contract, position, layout };
      if (getKey(rule, holder) === key) return rule;
    }
  }
  return undefined;
}

/** Returns the slot of a mapping: the hash of key and position in Solidity, of position and key in Vyper. */
function getKey({ position, layout }: MappingRule, holder: Address): Hex {
  const [owner, at] = [holder.slice(2).padStart(64, '0'), toWord(position).slice(2)];
  return bytesToHex(keccak256(hexToBytes(layout === 'solidity' ? `0x${owner}${at}` : `0x${at}${owner}`)));
}

/** Returns a number as a word of 32 bytes. */
export function toWord(value: bigint): Hex {
  return `0x${value.toString(16).padStart(64, '0')}`;
}
