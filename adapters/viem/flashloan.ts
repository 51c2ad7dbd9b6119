import type { Address, ContractSignatureQuery } from 'intentbook';
import { type BalanceSlots, toWord } from './balance-slots.ts';
import { NodeError } from './rpc.ts';

/** Values that replace the state, by contract, as in JSON-RPC. */
export type StateOverrides = Readonly<Record<Address, { readonly stateDiff?: object; readonly balance?: string }>>;

/**
 * Returns the override that gives the loan of an order to its receiver, as if the lender had paid it. The hooks of the
 * order distribute it from there. Empty without a loan, if the slot of the balance is not found, or if the node cannot
 * list the slots.
 */
export async function getLoanOverride(
  slots: BalanceSlots,
  flashloan: ContractSignatureQuery['flashloan'],
  signal: AbortSignal,
): Promise<StateOverrides> {
  if (flashloan === undefined) return {};
  const slot = await slots.find(flashloan.token, flashloan.receiver, signal).catch((error: unknown) => {
    if (error instanceof NodeError && error.unsupported) return undefined;
    throw error;
  });
  return slot === undefined ? {} : { [slot.contract]: { stateDiff: { [slot.key]: toWord(flashloan.amount) } } };
}

/** Joins overrides of the same or of different contracts. */
export function joinOverrides(first: StateOverrides, second: StateOverrides): StateOverrides {
  const joined: Record<Address, { readonly stateDiff?: object; readonly balance?: string }> = { ...first };
  for (const [contract, override] of Object.entries(second) as [Address, StateOverrides[Address]][]) {
    const stateDiff = { ...first[contract]?.stateDiff, ...override.stateDiff };
    joined[contract] = { ...first[contract], ...override, stateDiff };
  }
  return joined;
}
