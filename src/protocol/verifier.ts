import { accelerateKeccak } from '../crypto/keccak.ts';
import type { RecoveryPool } from '../crypto/packed.ts';
import { toAddress } from '../crypto/packed.ts';
import type { RecoveryBackend, RecoveryBackendOption } from '../crypto/recovery.ts';
import { selectRecoveryBackend } from '../crypto/recovery.ts';
import { OrderBookError } from '../errors.ts';
import type { Domain } from './eip712.ts';
import { parseDomain, personalDigest } from './eip712.ts';
import type { Address, Hex } from './hex.ts';
import { bytesToHex, parseHex } from './hex.ts';
import type { BuyTokenDestination, OrderData, OrderHasher, OrderKind, SellTokenSource } from './order.ts';
import { BUY_TOKEN_DESTINATIONS, createOrderHasher, MAX_UINT32, ORDER_KINDS, SELL_TOKEN_SOURCES } from './order.ts';
import type { SignedDigest } from './recover-many.ts';
import { recoverEach } from './recover-many.ts';
import type { EcdsaScheme, EcdsaSignature, SigningScheme } from './signature.ts';
import { isEcdsa, parseEcdsaSignature, SIGNING_SCHEMES } from './signature.ts';
import { parseUint256 } from './uint256.ts';

/** A signed order as the wire carries it, with `appData` as the hash. Amounts are decimal strings of atoms. */
export interface SignedOrder {
  readonly sellToken: string;
  readonly buyToken: string;
  readonly receiver?: string | null;
  readonly sellAmount: string;
  readonly buyAmount: string;
  readonly validTo: number;
  readonly appData: string;
  readonly feeAmount: string;
  readonly kind: OrderKind;
  readonly partiallyFillable: boolean;
  readonly sellTokenBalance?: SellTokenSource;
  readonly buyTokenBalance?: BuyTokenDestination;
  readonly signingScheme: SigningScheme;
  readonly signature: string;
}

/** What `recoverMany` answers for one order. */
export type Recovered =
  | { readonly signer: Address; readonly error?: undefined }
  | { readonly signer?: undefined; readonly error: OrderBookError };

/** The domain that signatures are made in, and what recovers their signers. */
export interface VerifierOptions extends Domain {
  /**
   * Where public keys are recovered. Default: `native`, libsecp256k1 compiled for the machine, where the host has
   * installed the package secp256k1; `wasm`, the same library in WebAssembly, otherwise.
   */
  readonly backend?: RecoveryBackendOption;
  /** Other threads, for `recoverMany` and `recoverDigests`. Whoever made it closes it. Default: none. */
  readonly pool?: RecoveryPool;
}

/** Recovers the signers of orders of one domain. */
export interface Verifier {
  /** Which implementation recovers public keys. */
  readonly backend: RecoveryBackend['name'];
  readonly hasher: OrderHasher;

  /**
   * Recovers the signer of an order signed by `eip712` or `ethsign`.
   *
   * @returns the signer's address in lower case.
   * @throws OrderBookError `InvalidSignature` when the order or its signature is malformed, when the scheme is not one
   * of ECDSA, or when no key fits.
   */
  recover(order: SignedOrder): Address;

  /** Recovers many orders' signers; each answer stands where its order stood. */
  recoverMany(orders: readonly SignedOrder[]): Promise<Recovered[]>;

  /**
   * Recovers the signer of a digest of 32 bytes: an order's or a cancellation's. For `ethsign` the digest is wrapped
   * first (EIP-191).
   *
   * @returns the signer's address in lower case, or `undefined` when no key fits.
   */
  recoverDigest(digest: Uint8Array, scheme: EcdsaScheme, signature: EcdsaSignature): Address | undefined;

  /** Recovers the signers of many digests, as `recoverDigest` does; each answer stands where its digest stood. */
  recoverDigests(signed: readonly SignedDigest[]): Promise<(Address | undefined)[]>;
}

/**
 * Makes a verifier for the orders of one settlement contract.
 *
 * @throws TypeError when the domain is none: a wrong one would answer strangers as signers instead of failing.
 * @throws Error when the backend that is asked for by name cannot be loaded.
 */
export async function createVerifier(options: VerifierOptions): Promise<Verifier> {
  const domain = parseDomain(options);
  const [backend] = await Promise.all([selectRecoveryBackend(options.backend), accelerateKeccak()]);
  const hasher = createOrderHasher(domain);

  function recoverDigest(digest: Uint8Array, scheme: EcdsaScheme, signature: EcdsaSignature): Address | undefined {
    const message = scheme === 'ethsign' ? personalDigest(digest) : digest;
    const key = backend.recover(message, signature.rs, signature.recoveryId);
    return key && bytesToHex(toAddress(key));
  }

  function read(order: SignedOrder): SignedDigest {
    if (typeof order !== 'object' || order === null) throw new OrderBookError('InvalidSignature', 'not an order');
    const scheme = oneOf('signingScheme', SIGNING_SCHEMES, order.signingScheme);
    if (!isEcdsa(scheme)) {
      throw new OrderBookError('InvalidSignature', `a ${scheme} signature does not name its signer`);
    }
    const bytes = parseHex(order.signature);
    const signature = bytes === undefined ? 'the signature is not hex text' : parseEcdsaSignature(bytes);
    if (typeof signature === 'string') throw new OrderBookError('InvalidSignature', signature);
    return { digest: hasher.digest(orderData(order)), scheme, signature };
  }

  function readOrRefuse(order: SignedOrder): SignedDigest | OrderBookError {
    try {
      return read(order);
    } catch (error) {
      if (error instanceof OrderBookError) return error;
      throw error;
    }
  }

  const means = { recoverDigest, pool: options.pool };
  return {
    backend: backend.name,
    hasher,
    recover(order) {
      const { digest, scheme, signature } = read(order);
      const signer = recoverDigest(digest, scheme, signature);
      if (signer === undefined) throw noKey();
      return signer;
    },
    recoverDigest,
    async recoverDigests(signed) {
      const signers = await recoverEach(signed, (each) => each, means);
      return signers as (Address | undefined)[]; // nothing that was read already has an error
    },
    async recoverMany(orders) {
      const signers = await recoverEach(orders, readOrRefuse, means);
      return signers.map((signer = noKey()) => (typeof signer === 'string' ? { signer } : { error: signer }));
    },
  };
}

function noKey(): OrderBookError {
  return new OrderBookError('InvalidSignature', 'no key fits this signature');
}

/**
 * Reads the signed fields of a wire order.
 *
 * @throws OrderBookError `InvalidSignature` naming a field that is malformed, and so could not have been signed.
 */
export function orderData(order: SignedOrder): OrderData {
  return {
    sellToken: hexField(order, 'sellToken', 20),
    buyToken: hexField(order, 'buyToken', 20),
    receiver: order.receiver === undefined || order.receiver === null ? null : hexField(order, 'receiver', 20),
    sellAmount: amountField(order, 'sellAmount'),
    buyAmount: amountField(order, 'buyAmount'),
    validTo: validToField(order),
    appData: hexField(order, 'appData', 32),
    feeAmount: amountField(order, 'feeAmount'),
    kind: oneOf('kind', ORDER_KINDS, order.kind),
    partiallyFillable: oneOf('partiallyFillable', [true, false], order.partiallyFillable),
    sellTokenBalance: oneOf('sellTokenBalance', SELL_TOKEN_SOURCES, order.sellTokenBalance, 'erc20'),
    buyTokenBalance: oneOf('buyTokenBalance', BUY_TOKEN_DESTINATIONS, order.buyTokenBalance, 'erc20'),
  };
}

function validToField({ validTo }: SignedOrder): number {
  if (Number.isInteger(validTo) && validTo >= 0 && validTo <= MAX_UINT32) return validTo;
  throw new OrderBookError('InvalidSignature', 'validTo is not a uint32');
}

function oneOf<T>(name: string, allowed: readonly T[], value: T | undefined, missing?: T): T {
  const chosen = value === undefined ? missing : value; // null is no value that the wire knows here
  if (chosen !== undefined && allowed.includes(chosen)) return chosen;
  throw new OrderBookError('InvalidSignature', `${name} is not one of ${allowed.join(', ')}`);
}

function hexField(order: SignedOrder, name: 'sellToken' | 'buyToken' | 'receiver' | 'appData', size: number): Hex {
  const value = parseHex(order[name], size);
  if (value === undefined) throw new OrderBookError('InvalidSignature', `${name} is not ${size} bytes of hex text`);
  return value;
}

function amountField(order: SignedOrder, name: 'sellAmount' | 'buyAmount' | 'feeAmount'): bigint {
  const value = parseUint256(order[name]);
  if (typeof value === 'string') throw new OrderBookError('InvalidSignature', `${name} is not a decimal uint256`);
  return value;
}
