import { withDeadline } from '../concurrency/abort.ts';
import { setBounded } from '../concurrency/bounded-map.ts';
import { type Clock, isRecent, readMonotonic } from '../ports/clock.ts';
import type { VaultReader } from '../ports/vaults.ts';
import type { Decimal } from '../protocol/decimal.ts';
import type { Address } from '../protocol/hex.ts';

/** Vaults whose assets are vaults. A cycle of vaults must not be read without an end. */
const MAX_LAYERS = 5;

/** Tokens that are known not to be vaults; the oldest are dropped first. */
const CAPACITY = 10_000;

/** Milliseconds for which a token counts as no vault. Its contract may not be deployed, or be paused. */
const OTHER_TTL = 600_000;

/** A token with its value in another one: atoms of `asset` for one of its atoms. */
interface UnwrappedToken {
  readonly asset: Address;
  readonly rate: Decimal;
}

/** Finds the asset of a vault within a time in milliseconds. */
export type UnwrapToken = (
  token: Address,
  timeout: number,
  signal: AbortSignal | undefined,
) => Promise<UnwrappedToken | undefined>;

/**
 * Creates the search for the asset of a vault (EIP-4626), through vaults of vaults. A token that is no vault is not
 * read again for ten minutes. After a failure, which is reported, and after too many layers, it is priced as any other.
 */
export function createVaultUnwrapping(
  reader: VaultReader,
  clock: Clock,
  longest: number,
  onFailure: (failure: unknown) => void,
): UnwrapToken {
  /** When a token was read, in milliseconds of `readMonotonic`. */
  const others = new Map<Address, number>();
  const isOther = (token: Address) => isRecent(clock, others.get(token) ?? Number.NEGATIVE_INFINITY, OTHER_TTL);

  async function unwrap(token: Address, signal: AbortSignal): Promise<UnwrappedToken | undefined> {
    let [asset, digits, scale] = [token, 1n, 0];
    for (let layer = 0; !isOther(asset); layer++) {
      const share = await reader.readShare(asset, { signal });
      if (share === undefined || share.asset === asset) {
        setBounded(others, asset, readMonotonic(clock), CAPACITY);
        break;
      }
      if (layer === MAX_LAYERS) return undefined;
      [asset, digits, scale] = [share.asset, digits * share.assets, scale + share.decimals];
    }
    return asset === token ? undefined : { asset, rate: { digits, scale } };
  }

  return async (token, timeout, signal) => {
    if (isOther(token)) return undefined;
    try {
      return await withDeadline(clock, Math.min(timeout, longest), (ended) => unwrap(token, ended), signal);
    } catch (failure) {
      signal?.throwIfAborted();
      onFailure(failure);
      return undefined;
    }
  };
}
