import { keccak_256 } from '@noble/hashes/sha3.js';
import { bytesToHex, concatBytes, hexToBytes } from '@noble/hashes/utils.js';
import type { AffiliateCodeTypedData, SubscriptionTypedData } from './account.ts';
import type { CancellationTypedData } from './cancellation.ts';
import { format, toHex } from './checks.ts';
import type { OrderTypedData } from './order.ts';
import type { Hex, TypedDataField } from './types.ts';

/** The typed data that this package creates. */
export type AnyTypedData = OrderTypedData | CancellationTypedData | SubscriptionTypedData | AffiliateCodeTypedData;

const DOMAIN_FIELDS = [
  { name: 'name', type: 'string' },
  { name: 'version', type: 'string' },
  { name: 'chainId', type: 'uint256' },
  { name: 'verifyingContract', type: 'address' },
] as const;

/** The domain of the account interface has two of the fields. */
const getDomainFields = (domain: object) => DOMAIN_FIELDS.filter(({ name }) => name in domain);

/**
 * Computes the EIP-712 digest of typed data: the 32 bytes that a raw key signs.
 *
 * For `ethsign`, sign the digest as a message (EIP-191), such as with `signMessage({ message: { raw: digest } })`.
 */
export function typedDataDigest(typedData: AnyTypedData): Hex {
  const { domain, types, message, primaryType } = requireTypedData(typedData);
  const fields: readonly TypedDataField[] = Object.values(types)[0] ?? [];
  const prefix = Uint8Array.of(0x19, 0x01);
  const separator = hashStruct('EIP712Domain', getDomainFields(domain), domain);
  const hash = hashStruct(primaryType, fields, message);
  return `0x${bytesToHex(keccak_256(concatBytes(prefix, separator, hash)))}`;
}

/**
 * Computes the UID of an order: its digest, its owner and its `validTo`, 56 bytes in all.
 *
 * @param owner - The signer, or the contract that owns the order.
 */
export function orderUid(typedData: OrderTypedData, owner: string): Hex {
  const validTo = requireTypedData(typedData).message.validTo.toString(16).padStart(8, '0');
  return `${typedDataDigest(typedData)}${toHex('owner', owner, 20).slice(2)}${validTo}` as Hex;
}

/** Renders typed data as the JSON parameter of `eth_signTypedData_v4`. Integers become decimal strings. */
export function typedDataJson(typedData: AnyTypedData): string {
  const types = { EIP712Domain: getDomainFields(requireTypedData(typedData).domain), ...typedData.types };
  return JSON.stringify({ ...typedData, types }, (_, value: unknown) =>
    typeof value === 'bigint' ? String(value) : value,
  );
}

/** @throws TypeError if a value of JavaScript is not typed data. */
function requireTypedData<T extends AnyTypedData>(typedData: T): T {
  const parts = [typedData?.domain, typedData?.types, typedData?.message];
  if (parts.every((part) => Object(part) === part)) return typedData;
  throw new TypeError(`typed data must be an object with domain, types and message, got ${format(typedData)}`);
}

/** The domain of a wallet, where all members are known. */
type Struct = AnyTypedData['domain'] | AnyTypedData['message'];

function hashStruct(name: string, fields: readonly TypedDataField[], struct: Struct): Uint8Array {
  const type = `${name}(${fields.map((field) => `${field.type} ${field.name}`).join()})`;
  const members = new Map<string, unknown>(Object.entries(struct));
  return keccak_256(
    concatBytes(hashText(type), ...fields.map(({ name: key, type: of }) => encode(of, members.get(key)))),
  );
}

/** Encodes a member as one word. */
function encode(type: string, value: unknown): Uint8Array {
  if (type === 'string') return hashText(String(value));
  if (type === 'bytes[]') {
    const items = value as readonly Hex[]; // by its type
    return keccak_256(concatBytes(...items.map((each) => keccak_256(hexToBytes(each.slice(2))))));
  }
  if (type === 'string[]') {
    const items = value as readonly string[]; // by its type
    return keccak_256(concatBytes(...items.map(hashText)));
  }
  if (type === 'bool') return word(value === true ? 1n : 0n);
  return word(BigInt(value as string | number | bigint)); // addresses, hashes and integers
}

const hashText = (text: string) => keccak_256(new TextEncoder().encode(text));
const word = (value: bigint) => hexToBytes(value.toString(16).padStart(64, '0'));
