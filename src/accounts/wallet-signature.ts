import { withDeadline } from '../concurrency/deadline.ts';
import { toAddress } from '../crypto/packed.ts';
import type { RecoveryBackendOption } from '../crypto/recovery.ts';
import { selectRecoveryBackend } from '../crypto/recovery.ts';
import type { ChainClient } from '../ports/chain-client.ts';
import type { Clock } from '../ports/clock.ts';
import type { Address, Hex } from '../protocol/hex.ts';
import { bytesToHex, hexSize, parseHex } from '../protocol/hex.ts';
import { parseEcdsaSignature } from '../protocol/signature.ts';

/** What became of asking whether a wallet has signed something. */
export type WalletVerdict =
  /** `signature` is its one stored form: low s and v of 27 or 28 of a key's, a contract's as it came. */
  | { readonly status: 'valid'; readonly signature: Hex }
  | { readonly status: 'invalid' }
  /** It may be a contract's, and nobody could be asked: nobody was named, or there was no answer. */
  | { readonly status: 'unverifiable'; readonly reason: 'no chain' | 'no answer' };

export interface WalletVerifierOptions {
  /** Chain 1, where contract wallets are asked (EIP-1271). */
  readonly mainnet: Pick<ChainClient, 'isValidSignature'> | undefined;
  readonly clock: Clock;
  /** Milliseconds that the chain has to answer. */
  readonly deadline: number;
  readonly recovery?: RecoveryBackendOption;
  readonly onFailure: (failure: unknown) => void;
}

/** Says whether a wallet, a key's or a contract's, has signed a digest of 32 bytes. */
export type WalletVerifier = (wallet: Address, digest: Uint8Array, signature: string) => Promise<WalletVerdict>;

/** Bytes of an ECDSA signature. */
const ECDSA_SIZE = 65;

/**
 * Makes the judge of wallet signatures. A signature that recovers to the wallet needs no chain. Any other may be that of
 * a contract, which only chain 1 can tell; without a chain, one of 65 bytes is taken for what it looks like, a key's that
 * is not the wallet's.
 */
export function createWalletVerifier(options: WalletVerifierOptions): WalletVerifier {
  const { mainnet, clock, deadline, recovery, onFailure } = options;
  let backend: ReturnType<typeof selectRecoveryBackend> | undefined;

  async function recover(digest: Uint8Array, signature: Hex) {
    const parsed = parseEcdsaSignature(signature);
    if (typeof parsed === 'string') return undefined;
    backend ??= selectRecoveryBackend(recovery);
    const key = (await backend).recover(digest, parsed.rs, parsed.recoveryId);
    return key && { signer: bytesToHex(toAddress(key)), signature: parsed.hex };
  }

  return async (wallet, digest, text) => {
    const signature = parseHex(text);
    if (signature === undefined) return { status: 'invalid' };
    const recovered = await recover(digest, signature);
    if (recovered?.signer === wallet) return { status: 'valid', signature: recovered.signature };
    if (mainnet?.isValidSignature === undefined) {
      return hexSize(signature) === ECDSA_SIZE ? { status: 'invalid' } : { status: 'unverifiable', reason: 'no chain' };
    }
    const query = { owner: wallet, digest: bytesToHex(digest), signature, pre: [], flashloan: undefined };
    try {
      // Called as a member: an implementation may need its `this`.
      const answer = await withDeadline(clock, deadline, async (signal) =>
        mainnet.isValidSignature?.(query, { signal }),
      );
      return answer?.valid === true ? { status: 'valid', signature } : { status: 'invalid' };
    } catch (failure) {
      onFailure(failure);
      return { status: 'unverifiable', reason: 'no answer' };
    }
  };
}
