import type { Address, Hex } from './hex.ts';

/** Digits of a 32-byte word. */
const WORD = 64;

/**
 * Reads ABI-encoded data straight from its hex text. What does not fit is `undefined`: data from a chain may be anything.
 * Offsets and places count in 32-byte words.
 */
export interface AbiReader {
  /** The digits of a word, without `0x`. */
  word(place: number): string | undefined;
  address(place: number): Address | undefined;
  uint(place: number): bigint | undefined;
  /** An unsigned integer that must be small: a length, an offset, a time. */
  small(place: number): number | undefined;
  /** Bytes whose offset, in bytes from the start of this data, stands at a place. */
  bytes(place: number): Hex | undefined;
  /** What begins where the offset that stands at a place points to. */
  at(place: number): AbiReader | undefined;
  /** What begins at a place. */
  from(place: number): AbiReader;
}

/** @param data hex text in lower case. @param start digits to pass over: 2 for `0x`, 10 for `0x` and a selector. */
export function readAbi(data: string, start = 2): AbiReader {
  const reader: AbiReader = {
    word(place) {
      const from = start + place * WORD;
      return from + WORD <= data.length ? data.slice(from, from + WORD) : undefined;
    },
    address(place) {
      const word = reader.word(place);
      return word?.startsWith('0'.repeat(24)) ? `0x${word.slice(24)}` : undefined;
    },
    uint(place) {
      const word = reader.word(place);
      return word === undefined ? undefined : BigInt(`0x${word}`);
    },
    small(place) {
      const word = reader.word(place);
      // Twelve digits are below 2^53.
      return word?.startsWith('0'.repeat(52)) ? Number.parseInt(word.slice(52), 16) : undefined;
    },
    bytes(place) {
      const offset = reader.small(place);
      if (offset === undefined) return undefined;
      const head = start + 2 * offset;
      const size = readAbi(data, head).small(0);
      const from = head + WORD;
      if (size === undefined || from + 2 * size > data.length) return undefined;
      return `0x${data.slice(from, from + 2 * size)}`;
    },
    at(place) {
      const offset = reader.small(place);
      return offset === undefined ? undefined : readAbi(data, start + 2 * offset); // past the end there is nothing to read
    },
    from: (place) => readAbi(data, start + place * WORD),
  };
  return reader;
}
