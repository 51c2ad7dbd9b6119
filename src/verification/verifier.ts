import type { RecoveryBackend } from '../crypto/backend.ts';
import { accelerateKeccak, toAddress } from '../crypto/keccak.ts';
import { PACKED_SIGNATURE, PACKED_SIGNER, packSignature, type RecoveryPool } from '../crypto/packed.ts';
import type { RecoveryBackendOption } from '../crypto/recovery.ts';
import { OrderBookError } from '../errors.ts';
import type { Observer } from '../listeners.ts';
import { type Clock, readMonotonic, yieldToEventLoop } from '../ports/clock.ts';
import { type Domain, parseDomain, personalDigest } from '../protocol/eip712.ts';
import { type Address, bytesToHex, type Hex, parseHex } from '../protocol/hex.ts';
import type { BuyTokenDestination, OrderData, OrderHasher, OrderKind, SellTokenSource } from '../protocol/order.ts';
import {
  BUY_TOKEN_DESTINATIONS,
  createOrderHasher,
  isUint32,
  ORDER_KINDS,
  SELL_TOKEN_SOURCES,
} from '../protocol/order.ts';
import type { EcdsaScheme, EcdsaSignature, SigningScheme } from '../protocol/signature.ts';
import { isEcdsa, parseEcdsaSignature, SIGNING_SCHEMES } from '../protocol/signature.ts';
import { parseUint256 } from '../protocol/uint256.ts';
import { assertOptionsObject } from '../validation/options.ts';

/** A signed order in wire format, with the hash as `appData`. Amounts are decimal strings of atoms. */
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

/** A digest with its signature. */
export interface SignedDigest {
  /** 32 bytes. */
  readonly digest: Uint8Array;
  readonly scheme: EcdsaScheme;
  readonly signature: EcdsaSignature;
}

/** A batch of recovered signers. */
export interface RecoveryObservation {
  readonly backend: RecoveryBackend['name'];
  readonly signatures: number;
  /** Duration of the batch in milliseconds. */
  readonly ms: number;
}

/** The result of `recoverMany` for one order. */
export type Recovered =
  | { readonly signer: Address; readonly error?: undefined }
  | { readonly signer?: undefined; readonly error: OrderBookError };

/** Options of a verifier: the domain of the signatures, and the recovery backend. */
export interface VerifierOptions extends Domain {
  /**
   * Backend for public key recovery. Default: the first that loads of `system` (libsecp256k1 of the system, by the
   * package koffi), `native` (libsecp256k1 of the package secp256k1) and `wasm` (the same library in WebAssembly).
   */
  readonly backend?: RecoveryBackendOption;
  /** Worker threads for `recoverMany` and `recoverDigests`. The caller closes the pool. Default: none. */
  readonly pool?: RecoveryPool;
}

/** Recovers the signers of orders of one domain. */
export interface Verifier {
  /** The name of the recovery backend. */
  readonly backend: RecoveryBackend['name'];
  readonly hasher: OrderHasher;

  /**
   * Recovers the signer of an order signed by `eip712` or `ethsign`.
   *
   * @returns The signer's address in lower case.
   * @throws OrderBookError `InvalidSignature` for a malformed order or signature, for a scheme other than ECDSA, and if
   * no key can be recovered.
   */
  recover(order: SignedOrder): Address;

  /** Recovers the signers of many orders. Returns one result per order, in input order. */
  recoverMany(orders: readonly SignedOrder[]): Promise<Recovered[]>;

  /**
   * Recovers the signer of a 32-byte digest of an order or a cancellation. For `ethsign` the digest is wrapped first
   * (EIP-191).
   *
   * @returns The signer's address in lower case, or `undefined` if no key can be recovered.
   */
  recoverDigest(digest: Uint8Array, scheme: EcdsaScheme, signature: EcdsaSignature): Address | undefined;

  /** Recovers the signers of many digests like `recoverDigest`. Returns one result per digest, in input order. */
  recoverDigests(signed: readonly SignedDigest[]): Promise<(Address | undefined)[]>;
}

/**
 * Creates a verifier for the orders of one settlement contract.
 *
 * @throws TypeError if the domain is not valid: a wrong domain would yield wrong signers instead of an error.
 * @throws Error if the backend is given by name and cannot be loaded.
 */
export async function createVerifier(options: VerifierOptions): Promise<Verifier> {
  assertOptionsObject('createVerifier', options, 'chainId');
  const domain = parseDomain(options);
  const { selectRecoveryBackend } = await import('../crypto/recovery.ts');
  const [backend] = await Promise.all([selectRecoveryBackend(options.backend), accelerateKeccak()]);
  const hasher = createOrderHasher(domain);

  function recoverDigest(digest: Uint8Array, scheme: EcdsaScheme, signature: EcdsaSignature): Address | undefined {
    const message = scheme === 'ethsign' ? personalDigest(digest) : digest;
    const key = backend.recover(message, signature.rs, signature.recoveryId);
    return key && bytesToHex(toAddress(key));
  }

  function parseSignedOrder(order: SignedOrder): SignedDigest {
    if (typeof order !== 'object' || order === null)
      throw new OrderBookError('InvalidSignature', 'the order must be an object');
    const scheme = parseChoice('signingScheme', SIGNING_SCHEMES, order.signingScheme);
    if (!isEcdsa(scheme)) {
      throw new OrderBookError('InvalidSignature', `a ${scheme} signature does not contain its signer`);
    }
    const bytes = parseHex(order.signature);
    const signature = bytes === undefined ? 'the signature is not hex text' : parseEcdsaSignature(bytes);
    if (typeof signature === 'string') throw new OrderBookError('InvalidSignature', signature);
    return { digest: hasher.digest(parseOrderData(order)), scheme, signature };
  }

  function tryParse(order: SignedOrder): SignedDigest | OrderBookError {
    try {
      return parseSignedOrder(order);
    } catch (error) {
      if (error instanceof OrderBookError) return error;
      throw error;
    }
  }

  const { pool } = options;
  return {
    backend: backend.name,
    hasher,
    recover(order) {
      const { digest, scheme, signature } = parseSignedOrder(order);
      const signer = recoverDigest(digest, scheme, signature);
      if (signer === undefined) throw createRecoveryError();
      return signer;
    },
    recoverDigest,
    recoverDigests: (signed) => recoverEach<SignedDigest, never>(signed, (each) => each, recoverDigest, pool),
    async recoverMany(orders) {
      const signers = await recoverEach(orders, tryParse, recoverDigest, pool);
      return signers.map((signer = createRecoveryError()) =>
        typeof signer === 'string' ? { signer } : { error: signer },
      );
    },
  };
}

function createRecoveryError(): OrderBookError {
  return new OrderBookError('InvalidSignature', 'no key can be recovered from the signature');
}

/**
 * Parses the signed fields of an order in wire format.
 *
 * @throws OrderBookError `InvalidSignature` naming the malformed field.
 */
export function parseOrderData(order: SignedOrder): OrderData {
  return {
    sellToken: parseHexField(order, 'sellToken', 20),
    buyToken: parseHexField(order, 'buyToken', 20),
    receiver: order.receiver === undefined || order.receiver === null ? null : parseHexField(order, 'receiver', 20),
    sellAmount: parseAmountField(order, 'sellAmount'),
    buyAmount: parseAmountField(order, 'buyAmount'),
    validTo: parseValidTo(order),
    appData: parseHexField(order, 'appData', 32),
    feeAmount: parseAmountField(order, 'feeAmount'),
    kind: parseChoice('kind', ORDER_KINDS, order.kind),
    partiallyFillable: parseChoice('partiallyFillable', [true, false], order.partiallyFillable),
    sellTokenBalance: parseChoice('sellTokenBalance', SELL_TOKEN_SOURCES, order.sellTokenBalance, 'erc20'),
    buyTokenBalance: parseChoice('buyTokenBalance', BUY_TOKEN_DESTINATIONS, order.buyTokenBalance, 'erc20'),
  };
}

function parseValidTo({ validTo }: SignedOrder): number {
  if (isUint32(validTo)) return validTo;
  throw new OrderBookError('InvalidSignature', 'validTo must be a uint32');
}

function parseChoice<T>(name: string, allowed: readonly T[], value: T | undefined, fallback?: T): T {
  const selected = value === undefined ? fallback : value; // null is not valid in wire format
  if (selected !== undefined && allowed.includes(selected)) return selected;
  throw new OrderBookError('InvalidSignature', `${name} must be one of ${allowed.join(', ')}`);
}

function parseHexField(order: SignedOrder, name: 'sellToken' | 'buyToken' | 'receiver' | 'appData', size: number): Hex {
  const value = parseHex(order[name], size);
  if (value === undefined) throw new OrderBookError('InvalidSignature', `${name} must be ${size} bytes of hex text`);
  return value;
}

function parseAmountField(order: SignedOrder, name: 'sellAmount' | 'buyAmount' | 'feeAmount'): bigint {
  const value = parseUint256(order[name]);
  if (typeof value === 'string') throw new OrderBookError('InvalidSignature', `${name} must be a decimal uint256`);
  return value;
}

/** Wraps a verifier and reports the duration of each recovery. */
export function observedVerifier(verifier: Verifier, clock: Clock, observer: Observer<RecoveryObservation>): Verifier {
  return {
    ...verifier,
    async recoverDigests(signed) {
      if (!observer.hasListeners() || signed.length === 0) return verifier.recoverDigests(signed);
      const startedAt = readMonotonic(clock);
      const signers = await verifier.recoverDigests(signed);
      observer.notify({ backend: verifier.backend, signatures: signed.length, ms: readMonotonic(clock) - startedAt });
      return signers;
    },
  };
}

/** Maximum number of signatures per message to a pool. It bounds the time for packing on this thread. */
const MAX_SLICE_SIZE = 256;

/** Number of signatures that this thread recovers per event-loop tick. */
const SIGNATURES_PER_TICK = 8;

/**
 * Recovers the signers of many items. `read` converts an item into a signed digest; its error becomes the result of the
 * item. Yields to the event loop regularly.
 */
export async function recoverEach<T, E extends OrderBookError>(
  items: readonly T[],
  read: (item: T) => SignedDigest | E,
  recoverDigest: (digest: Uint8Array, scheme: EcdsaScheme, signature: EcdsaSignature) => Address | undefined,
  pool: RecoveryPool | undefined,
): Promise<(Address | E | undefined)[]> {
  if (pool !== undefined && items.length >= pool.smallest) return recoverInPool(items, read, pool);
  const results: (Address | E | undefined)[] = [];
  for (const [i, item] of items.entries()) {
    if (i > 0 && i % SIGNATURES_PER_TICK === 0) await yieldToEventLoop();
    const signed = read(item);
    results.push(
      signed instanceof OrderBookError ? signed : recoverDigest(signed.digest, signed.scheme, signed.signature),
    );
  }
  return results;
}

async function recoverInPool<T, E extends OrderBookError>(
  items: readonly T[],
  read: (item: T) => SignedDigest | E,
  pool: RecoveryPool,
): Promise<(Address | E | undefined)[]> {
  // Several slices per thread, so that all threads finish at about the same time.
  const size = Math.min(MAX_SLICE_SIZE, Math.ceil(items.length / (4 * pool.threads)));
  const slices: Promise<(Address | E | undefined)[]>[] = [];
  for (let start = 0; start < items.length; start += size) {
    if (start > 0) await yieldToEventLoop();
    const results = recoverSlice(items.slice(start, start + size).map(read), pool);
    results.catch(() => {}); // handled by `Promise.all` below
    slices.push(results);
  }
  return (await Promise.all(slices)).flat();
}

async function recoverSlice<E extends OrderBookError>(
  slice: readonly (SignedDigest | E)[],
  pool: RecoveryPool,
): Promise<(Address | E | undefined)[]> {
  const packed = new Uint8Array(slice.length * PACKED_SIGNATURE);
  let count = 0;
  for (const signed of slice) {
    if (signed instanceof OrderBookError) continue;
    const { digest, scheme, signature } = signed;
    const message = scheme === 'ethsign' ? personalDigest(digest) : digest;
    packSignature(packed, count++, message, signature.rs, signature.recoveryId);
  }
  const signers = await pool.recover(packed.slice(0, count * PACKED_SIGNATURE));
  let index = 0;
  return slice.map((signed) => {
    if (signed instanceof OrderBookError) return signed;
    const at = index++ * PACKED_SIGNER;
    return signers[at] === 1 ? bytesToHex(signers.subarray(at + 1, at + PACKED_SIGNER)) : undefined;
  });
}
