import { withDeadline } from '../concurrency/deadline.ts';
import type { Clock } from '../ports/clock.ts';
import type { VaultReader } from '../ports/vaults.ts';
import type { Decimal } from '../protocol/decimal.ts';
import type { Address } from '../protocol/hex.ts';

/** Vaults whose assets are vaults. A vault of itself must not be read without an end. */
const MAX_LAYERS = 5;

/** Tokens that are known not to be vaults; the oldest are dropped first. */
const CAPACITY = 10_000;

/** A token with its value in another one: atoms of `asset` for one of its atoms. */
interface UnwrappedToken {
  readonly asset: Address;
  readonly rate: Decimal;
}

/**
 * Creates the search for the asset of a vault (EIP-4626), through vaults of vaults. A token that is no vault is read
 * once. A failure is reported, and the token is priced as any other.
 */
export function createVaultUnwrapping(
  reader: VaultReader,
  clock: Clock,
  timeout: number,
  onFailure: (failure: unknown) => void,
) {
  const others = new Set<Address>();

  async function unwrap(token: Address, signal: AbortSignal): Promise<UnwrappedToken | undefined> {
    let [asset, digits, scale] = [token, 1n, 0];
    for (let layer = 0; layer < MAX_LAYERS && !others.has(asset); layer++) {
      const share = await reader.readShare(asset, { signal });
      if (share === undefined) {
        others.add(asset);
        const [oldest = asset] = others;
        if (others.size > CAPACITY) others.delete(oldest);
        break;
      }
      [asset, digits, scale] = [share.asset, digits * share.assets, scale + share.decimals];
    }
    return asset === token ? undefined : { asset, rate: { digits, scale } };
  }

  return async (token: Address): Promise<UnwrappedToken | undefined> => {
    if (others.has(token)) return undefined;
    try {
      return await withDeadline(clock, timeout, (signal) => unwrap(token, signal));
    } catch (failure) {
      onFailure(failure);
      return undefined;
    }
  };
}
