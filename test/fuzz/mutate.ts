/** Returns pseudo-random numbers by seed (mulberry32). */
export function randomNumbers(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below);
  };
}

export interface Mutations {
  readonly random: (below: number) => number;
  readonly words: readonly Uint8Array[];
  /** Another input as a source of fragments. */
  readonly other: () => Uint8Array;
}

/** Maximum length of mutated inputs, apart from repetitions. */
const LONGEST = 4096;
/** Usual length limit of the interfaces under test. */
const PUMPED = 65_536;

/** Changes an input in one to four places. */
export function mutate(input: Uint8Array, mutations: Mutations): Uint8Array {
  const { random } = mutations;
  if (random(16) === 0) {
    const changed = mutateJson(input, mutations);
    if (changed !== undefined) return changed;
  }
  let bytes = input;
  for (let times = 1 + random(4); times > 0; times--) bytes = change(bytes, mutations);
  // Repetition exposes regular expressions that backtrack.
  return random(512) === 0 ? pump(bytes, random) : bytes.subarray(0, LONGEST);
}

function change(bytes: Uint8Array, { random, words, other }: Mutations): Uint8Array {
  const at = random(random(4) === 0 ? Math.min(bytes.length, 8) + 1 : bytes.length + 1);
  const end = Math.min(bytes.length, at + 1 + random(random(4) === 0 ? bytes.length : 8));
  switch (random(9)) {
    case 0:
      return splice(bytes, at, end, NOTHING);
    case 1:
      return splice(bytes, at, at, Uint8Array.of(random(256)));
    case 2:
      return splice(bytes, at, at + 1, Uint8Array.of(random(256)));
    case 3:
      return splice(bytes, at, at + 1, Uint8Array.of((bytes[at] ?? 0) ^ (1 << random(8))));
    case 4:
      return splice(bytes, at, at, bytes.subarray(at, end));
    case 5: {
      const piece = other();
      const from = random(piece.length + 1);
      return splice(bytes, at, random(2) === 0 ? at : end, piece.subarray(from, from + 1 + random(piece.length)));
    }
    case 6:
      return splice(bytes, at, at + 1, Uint8Array.of((bytes[at] ?? 0) + random(2) * 2 - 1));
    default:
      return splice(bytes, at, random(2) === 0 ? at : end, words[random(words.length)] ?? NOTHING);
  }
}

const NOTHING = new Uint8Array();

function splice(bytes: Uint8Array, from: number, to: number, piece: Uint8Array): Uint8Array {
  const changed = new Uint8Array(from + piece.length + Math.max(0, bytes.length - to));
  changed.set(bytes.subarray(0, from));
  changed.set(piece, from);
  changed.set(bytes.subarray(to), from + piece.length);
  return changed;
}

/** Repeats a fragment of at most eight bytes up to the length limit. */
function pump(bytes: Uint8Array, random: Mutations['random']): Uint8Array {
  const at = random(bytes.length + 1);
  const piece = bytes.subarray(at, at + 1 + random(8));
  if (piece.length === 0) return bytes;
  const pumped = new Uint8Array(piece.length * Math.floor(Math.max(0, PUMPED - bytes.length) / piece.length));
  for (let i = 0; i < pumped.length; i += piece.length) pumped.set(piece, i);
  return splice(bytes, at, at, pumped);
}

const VALUES: readonly unknown[] = [
  null,
  true,
  false,
  0,
  -1,
  1.5,
  2 ** 32 - 1,
  2 ** 32,
  2 ** 53,
  1e308,
  '',
  '0',
  '1',
  '0x',
  'null',
  [],
  {},
  [[]],
  { length: 1 },
  '9'.repeat(78),
  '9'.repeat(79),
  `0x${'0'.repeat(40)}`,
  `0x${'F'.repeat(64)}`,
  '\u2028',
  '\ud800',
];

/** Replaces, removes, repeats or renames one value of a JSON text. Returns `undefined` if the text is not JSON. */
function mutateJson(input: Uint8Array, { random, words }: Mutations): Uint8Array | undefined {
  let root: unknown;
  try {
    root = JSON.parse(new TextDecoder().decode(input));
  } catch {
    return undefined;
  }
  const holders: Record<string, unknown>[] = [];
  const walk = (value: unknown) => {
    if (typeof value !== 'object' || value === null) return;
    holders.push(value as Record<string, unknown>); // arrays have keys too
    for (const each of Object.values(value)) walk(each);
  };
  walk(root);
  const holder = holders[random(holders.length)];
  if (holder === undefined) return undefined;
  const keys = Object.keys(holder);
  const key = keys[random(keys.length)] ?? 'key';
  const word = () => new TextDecoder().decode(words[random(words.length)]).replace(/^"|"$/g, '');
  const choice = random(5);
  if (choice === 0) delete holder[key];
  else if (choice === 1) holder[word()] = holder[key];
  else if (choice === 2) holder[key] = word();
  else if (choice === 3) holder[key] = holder[keys[random(keys.length)] ?? key];
  else holder[key] = VALUES[random(VALUES.length)];
  try {
    return new TextEncoder().encode(JSON.stringify(root)).subarray(0, LONGEST);
  } catch {
    return undefined; // a cyclic value
  }
}
