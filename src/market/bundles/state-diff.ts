import type { StateChange, StorageChange, TokenTransfer } from '../../ports/bundle-simulation.ts';
import { type Address, ZERO_ADDRESS } from '../../protocol/hex.ts';

/** Signed atoms as decimal text, by account and token. */
export type BalanceDifferences = Readonly<Record<Address, Readonly<Record<Address, string>>>>;

/** Creates totals without any transfer. */
export function createBalanceTotals() {
  const totals = new Map<Address, Map<Address, bigint>>();

  function change(account: Address, token: Address, amount: bigint): void {
    if (account === ZERO_ADDRESS) return; // mints and burns
    const tokens = totals.get(account) ?? new Map<Address, bigint>();
    totals.set(account, tokens.set(token, (tokens.get(token) ?? 0n) + amount));
  }

  return {
    add(transfers: readonly TokenTransfer[]): void {
      for (const { token, from, to, amount } of transfers) {
        change(from, token, -amount);
        change(to, token, amount);
      }
    },
    /** Returns the differences since the start of the bundle. */
    differences(): BalanceDifferences {
      const entries = [...totals].map(([account, tokens]) => {
        return [account, Object.fromEntries([...tokens].map(([token, amount]) => [token, String(amount)]))] as const;
      });
      return Object.fromEntries(entries);
    },
  };
}

/** Merges the changes of a transaction into those of the earlier ones, as production does. Its inputs are unchanged. */
export function mergeStateChanges(earlier: readonly StateChange[], later: readonly StateChange[]): StateChange[] {
  const merged = [...earlier];
  for (const change of later) {
    if (isTyped(change)) mergeVariable(merged, change);
    else for (const slot of change.raw) mergeSlot(merged, change, slot);
  }
  return merged;
}

const isTyped = ({ soltype, original, dirty }: StateChange) => soltype !== null && original != null && dirty != null;

/** Keeps the first original value and the last dirty value of a variable. */
function mergeVariable(merged: StateChange[], change: StateChange): void {
  const at = merged.findIndex(
    ({ address, soltype }) => address === change.address && soltype !== null && soltype.name === change.soltype?.name,
  );
  const known = merged[at];
  if (known === undefined) merged.push(change);
  else merged[at] = { ...known, dirty: change.dirty, raw: change.raw.reduce(mergeRaw, known.raw) };
}

function mergeSlot(merged: StateChange[], change: StateChange, slot: StorageChange): void {
  const hasSlot = ({ raw }: StateChange) => raw.some((each) => each.address === slot.address && each.key === slot.key);
  const at = merged.findIndex(hasSlot);
  const known = merged[at];
  if (known === undefined) merged.push({ ...change, raw: [slot] });
  else merged[at] = { ...known, raw: mergeRaw(known.raw, slot) };
}

function mergeRaw(slots: readonly StorageChange[], slot: StorageChange): readonly StorageChange[] {
  const at = slots.findIndex(({ address, key }) => address === slot.address && key === slot.key);
  const known = slots[at];
  return known === undefined ? [...slots, slot] : slots.with(at, { ...known, dirty: slot.dirty });
}
