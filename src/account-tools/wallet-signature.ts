import { withDeadline } from '../concurrency/abort.ts';
import type { RecoveryBackend } from '../crypto/backend.ts';
import { toAddress } from '../crypto/keccak.ts';
import type { RecoveryBackendOption } from '../crypto/recovery.ts';
import type { ChainClient } from '../ports/chain-client.ts';
import type { Clock } from '../ports/clock.ts';
import { type Address, bytesToHex, type Hex, hexSize, parseHex } from '../protocol/hex.ts';
import { parseEcdsaSignature } from '../protocol/signature.ts';

/** The result of verifying a wallet signature. */
export type WalletVerification =
  /**
   * `signature` is the normalised signature: low s and v of 27 or 28 for ECDSA; a contract signature without its
   * deployment.
   */
  | { readonly status: 'valid'; readonly signature: Hex }
  | { readonly status: 'invalid' }
  /** It may be a contract signature, but chain 1 is not configured or the query failed. */
  | { readonly status: 'unverifiable'; readonly reason: 'no chain' | 'no response' };

export interface WalletVerifierOptions {
  /** The client of chain 1, which checks signatures of contract wallets (EIP-1271). */
  readonly mainnet: Pick<ChainClient, 'isValidSignature'> | undefined;
  readonly clock: Clock;
  /** Time limit for the chain, in milliseconds. */
  readonly deadline: number;
  readonly recovery?: RecoveryBackendOption;
  readonly onFailure: (failure: unknown) => void;
}

/** Verifies the signature of an account or contract wallet over a 32-byte digest. */
export type WalletVerifier = (wallet: Address, digest: Uint8Array, signature: string) => Promise<WalletVerification>;

/** Size of an ECDSA signature in bytes. */
const ECDSA_SIZE = 65;

/**
 * Creates a verifier of wallet signatures. A signature that recovers to the wallet needs no chain. Any other signature
 * may belong to a contract, which only chain 1 can verify. Without a chain client, a signature of 65 bytes is treated
 * as an ECDSA signature of another key.
 */
export function createWalletVerifier(options: WalletVerifierOptions): WalletVerifier {
  const { mainnet, clock, deadline, recovery, onFailure } = options;
  let backend: Promise<RecoveryBackend> | undefined;

  async function recover(digest: Uint8Array, signature: Hex) {
    const parsed = parseEcdsaSignature(signature);
    if (typeof parsed === 'string') return undefined;
    backend ??= import('../crypto/recovery.ts').then((module) => module.selectRecoveryBackend(recovery));
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
    const query = {
      owner: wallet,
      digest: bytesToHex(digest),
      signature,
      pre: [],
      flashloan: undefined,
      allowDeployment: true,
    };
    try {
      // Called as a method, because an implementation may use `this`.
      const result = await withDeadline(clock, deadline, async (signal) =>
        mainnet.isValidSignature?.(query, { signal }),
      );
      if (result?.valid !== true) return { status: 'invalid' };
      // A stored signature must be verifiable without its deployment.
      return { status: 'valid', signature: result.signature ?? signature };
    } catch (failure) {
      onFailure(failure);
      return { status: 'unverifiable', reason: 'no response' };
    }
  };
}
