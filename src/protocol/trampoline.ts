import { HOOKS_TRAMPOLINE } from './chains.ts';
import { type Address, type Hex, hexSize } from './hex.ts';
import type { Hook, Hooks } from './metadata.ts';

/** A call that runs before or after an order's trade. */
export interface InteractionData {
  readonly target: Address;
  /** Wei, decimal. */
  readonly value: string;
  readonly callData: Hex;
}

/** The calls of an order in wire format. */
export interface Interactions {
  readonly pre: readonly InteractionData[];
  readonly post: readonly InteractionData[];
}

const NONE: Interactions = { pre: [], post: [] };

/**
 * Converts hooks into interactions: at most one before and one after the trade. Each calls the hooks trampoline, which
 * runs the hooks in order, enforces their gas limits and tolerates their failures. See
 * docs/internals/decisions.md#d2-18.
 */
export function getInteractions({ pre, post }: Hooks, trampoline: Address = HOOKS_TRAMPOLINE): Interactions {
  if (pre.length === 0 && post.length === 0) return NONE;
  return { pre: createInteractions(pre, trampoline), post: createInteractions(post, trampoline) };
}

function createInteractions(hooks: readonly Hook[], target: Address): readonly InteractionData[] {
  return hooks.length === 0 ? [] : [{ target, value: '0', callData: encodeExecute(hooks) }];
}

/** Returns the total gas limit of all hooks, before and after the trade. */
export function getHooksGas({ pre, post }: Hooks): bigint {
  return [...pre, ...post].reduce((sum, { gasLimit }) => sum + gasLimit, 0n);
}

/** The selector of `execute((address,bytes,uint256)[])` (HooksTrampoline.sol). */
const EXECUTE = '760f2a0b';

/** Encodes `execute(hooks)`: a dynamic array of tuples, which are dynamic because of their `bytes`. */
function encodeExecute(hooks: readonly Hook[]): Hex {
  const tuples = hooks.map(encodeHook);
  let offset = 32 * tuples.length;
  const offsets = tuples.map((tuple) => {
    const at = word(offset);
    offset += tuple.length / 2;
    return at;
  });
  return `0x${EXECUTE}${word(32)}${word(tuples.length)}${offsets.join('')}${tuples.join('')}`;
}

function encodeHook({ target, callData, gasLimit }: Hook): string {
  const size = hexSize(callData);
  const padding = '00'.repeat((32 - (size % 32)) % 32);
  return `${target.slice(2).padStart(64, '0')}${word(96)}${word(gasLimit)}${word(size)}${callData.slice(2)}${padding}`;
}

function word(value: number | bigint): string {
  return value.toString(16).padStart(64, '0');
}
