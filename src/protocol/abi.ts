import type { Address, Hex } from './hex.ts';

/** Hex digits of a 32-byte word. */
const WORD = 64;

/**
 * Reads ABI-encoded data from its hex text without decoding all of it. Invalid data yields `undefined`, because chain
 * data is untrusted. Indexes and offsets are in 32-byte words.
 */
export interface AbiReader {
  /** Returns the digits of a word, without `0x`. */
  word(index: number): string | undefined;
  address(index: number): Address | undefined;
  uint(index: number): bigint | undefined;
  /** Returns an unsigned integer below 2^48: a length, an offset, a time. */
  small(index: number): number | undefined;
  /** Returns bytes. The word at `place` is their offset in bytes from the start of this data. */
  bytes(index: number): Hex | undefined;
  /** Returns a reader at the offset that the word at `place` contains. */
  at(index: number): AbiReader | undefined;
  /** Returns a reader that starts at `place`. */
  from(index: number): AbiReader;
}

/**
 * Creates a reader.
 *
 * @param data - Hex text in lower case.
 * @param start - Number of characters to skip: 2 for `0x`, 10 for `0x` and a selector.
 */
export function readAbi(data: string, start = 2): AbiReader {
  const reader: AbiReader = {
    word(index) {
      const from = start + index * WORD;
      return from + WORD <= data.length ? data.slice(from, from + WORD) : undefined;
    },
    address(index) {
      const word = reader.word(index);
      return word?.startsWith('0'.repeat(24)) ? `0x${word.slice(24)}` : undefined;
    },
    uint(index) {
      const word = reader.word(index);
      return word === undefined ? undefined : BigInt(`0x${word}`);
    },
    small(index) {
      const word = reader.word(index);
      // Twelve hex digits are below 2^53.
      return word?.startsWith('0'.repeat(52)) ? Number.parseInt(word.slice(52), 16) : undefined;
    },
    bytes(index) {
      const offset = reader.small(index);
      if (offset === undefined) return undefined;
      const head = start + 2 * offset;
      const size = readAbi(data, head).small(0);
      const from = head + WORD;
      if (size === undefined || from + 2 * size > data.length) return undefined;
      return `0x${data.slice(from, from + 2 * size)}`;
    },
    at(index) {
      const offset = reader.small(index);
      return offset === undefined ? undefined : readAbi(data, start + 2 * offset); // empty beyond the end of the data
    },
    from: (index) => readAbi(data, start + index * WORD),
  };
  return reader;
}
