import { OrderBookError } from '../errors.ts';
import type { Address, Hex } from '../protocol/hex.ts';
import { bytesToHex, hexSize } from '../protocol/hex.ts';
import type { OrderData } from '../protocol/order.ts';
import { isEcdsa, parseEcdsaSignature } from '../protocol/signature.ts';
import { packUid } from '../protocol/uid.ts';
import type { Verifier } from '../protocol/verifier.ts';
import type { Candidate, KnownDocument } from './candidate.ts';
import type { ParsedCreation } from './creation.ts';

/** The domain, as a refusal shows it. */
export interface ShownDomain {
  readonly name: string;
  readonly version: string;
  readonly chainId: number;
  readonly verifyingContract: Address;
}

/**
 * Finds the owner of an order and proves that the signature is theirs, as far as that can be done without a chain
 * (decisions 2.3 to 2.7).
 *
 * @returns the candidate, or `AppdataFromMismatch`, `MissingFrom` or `InvalidSignature`.
 */
export function authenticate(
  creation: ParsedCreation,
  document: KnownDocument,
  verifier: Verifier,
  domain: ShownDomain,
): Candidate | OrderBookError {
  const { from, signingScheme } = creation;
  const { signer } = document.content;
  if (from !== undefined && signer !== undefined && from !== signer) {
    return new OrderBookError('AppdataFromMismatch', `from is ${from}, metadata.signer is ${signer}`, { from, signer });
  }
  const expected = from ?? signer;
  const data: OrderData = {
    sellToken: creation.sellToken,
    buyToken: creation.buyToken,
    receiver: creation.receiver,
    sellAmount: creation.sellAmount,
    buyAmount: creation.buyAmount,
    validTo: creation.validTo,
    appData: document.hash,
    feeAmount: 0n, // any other fee has been refused before
    kind: creation.kind,
    partiallyFillable: creation.partiallyFillable,
    sellTokenBalance: creation.sellTokenBalance,
    buyTokenBalance: creation.buyTokenBalance,
  };
  const digest = verifier.hasher.digest(data);
  const admit = (owner: Address, signature: Hex): Candidate => {
    const uid = packUid({ digest: bytesToHex(digest), owner, validTo: data.validTo });
    return { creation, data, uid, owner, signature, document };
  };

  if (!isEcdsa(signingScheme)) {
    if (expected === undefined) {
      return new OrderBookError('MissingFrom', `a ${signingScheme} order must say \`from\`, its signature does not`);
    }
    const signature = signingScheme === 'presign' ? presignBytes(creation.signature) : creation.signature;
    return signature instanceof OrderBookError ? signature : admit(expected, signature);
  }

  const help = { scheme: signingScheme, digest: bytesToHex(digest), domain };
  const signature = parseEcdsaSignature(creation.signature);
  if (typeof signature === 'string') return new OrderBookError('InvalidSignature', signature, help);
  const recovered = verifier.recoverDigest(digest, signingScheme, signature);
  if (recovered === undefined) return new OrderBookError('InvalidSignature', 'no key fits this signature', help);
  if (expected !== undefined && expected !== recovered) {
    const description = `the signature is by ${recovered}, not by ${expected}`;
    return new OrderBookError('InvalidSignature', description, { recovered, expected, ...help });
  }
  return admit(recovered, signature.hex);
}

/** A presign order carries no signature. Clients of old put the owner's address in its place, which is ignored. */
function presignBytes(signature: Hex): Hex | OrderBookError {
  const size = hexSize(signature);
  if (size === 0 || size === 20) return '0x';
  return new OrderBookError('InvalidSignature', `a presign signature is 0x, this one has ${size} bytes`, {
    scheme: 'presign',
  });
}
