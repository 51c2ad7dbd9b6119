/** A seeded source of numbers. Equal seeds give equal sequences on every platform. */
export interface SeededRandom {
  /** Returns a number from 0 to below 1. */
  fraction(): number;
  /** Returns an integer from `min` to `max`, both included. */
  integer(min: number, max: number): number;
  /** Returns whether an event of a probability happens. */
  chance(probability: number): boolean;
  /** Returns an element of a list that is not empty. */
  pick<T>(list: readonly T[]): T;
  /** Creates a source that does not depend on how often this one was used. */
  derive(label: string): SeededRandom;
}

/** Creates a source from a text: the generator sfc32, seeded with a hash of the text. */
export function createSeededRandom(seed: string): SeededRandom {
  let a = hashText(`${seed} a`);
  let b = hashText(`${seed} b`);
  let c = hashText(`${seed} c`);
  let counter = 1;

  function next(): number {
    const sum = (((a + b) | 0) + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = ((c << 21) | (c >>> 11)) + sum;
    return sum >>> 0;
  }
  for (let i = 0; i < 12; i++) next();

  const random: SeededRandom = {
    fraction: () => next() / 2 ** 32,
    integer: (min, max) => min + (next() % (max - min + 1)),
    chance: (probability) => next() / 2 ** 32 < probability,
    pick<T>(list: readonly T[]) {
      return list[next() % list.length] as T; // the list is not empty
    },
    derive: (label) => createSeededRandom(`${seed} ${label}`),
  };
  return random;
}

/** Creates a list of `count` elements. */
export function repeat<T>(count: number, create: () => T): T[] {
  return Array.from({ length: count }, create);
}

/** Returns 32 bits of a text: FNV-1a with a final mix. */
export function hashText(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) | 0;
}
