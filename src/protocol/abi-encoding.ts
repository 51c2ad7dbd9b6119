import type { Hex } from './hex.ts';

/** A value in the encoding of the contract ABI: words in hex without `0x`. */
export interface Encoded {
  /** Whether the encoding stands behind an offset. */
  readonly dynamic: boolean;
  readonly words: string;
}

/** Encodes an integer, a boolean or an address as one word. */
export function word(value: bigint | number | boolean | Hex): Encoded {
  return { dynamic: false, words: BigInt(value).toString(16).padStart(64, '0') };
}

export function bytes32(value: Hex): Encoded {
  return { dynamic: false, words: value.slice(2).padEnd(64, '0') };
}

/** Encodes a byte string of any length. */
export function bytes(value: Hex): Encoded {
  const size = (value.length - 2) / 2;
  const padding = '00'.repeat((32 - (size % 32)) % 32);
  return { dynamic: true, words: `${word(size).words}${value.slice(2)}${padding}` };
}

/** Encodes a tuple, or an array of fixed length. */
export function tuple(members: readonly Encoded[]): Encoded {
  const headSize = members.reduce((sum, { dynamic, words }) => sum + (dynamic ? 32 : words.length / 2), 0);
  let [head, tail] = ['', ''];
  for (const { dynamic, words } of members) {
    if (dynamic) {
      head += word(headSize + tail.length / 2).words;
      tail += words;
    } else head += words;
  }
  return { dynamic: members.some(({ dynamic }) => dynamic), words: head + tail };
}

/** Encodes an array of variable length. */
export function array(items: readonly Encoded[]): Encoded {
  return { dynamic: true, words: word(items.length).words + tuple(items).words };
}

export function encodeCall(selector: Hex, args: readonly Encoded[]): Hex {
  return `${selector}${tuple(args).words}`;
}

/** Splits a result into words. */
export function decodeWords(result: unknown): bigint[] {
  if (typeof result !== 'string' || !/^0x([0-9a-fA-F]{64})*$/.test(result)) {
    throw new TypeError(`the result of a call must be words of 32 bytes, got ${String(result).slice(0, 80)}`);
  }
  return (result.slice(2).match(/.{64}/g) ?? []).map((each) => BigInt(`0x${each}`));
}
