const MASK = (1n << 64n) - 1n;

/** The rotations of the lanes, and the lanes that they move to, in the order of one round (FIPS 202, 3.2.2 and 3.2.3). */
const MOVES = [];
for (let [t, x, y] = [0, 1, 0]; t < 24; t++) {
  MOVES.push([x + 5 * y, y + 5 * ((2 * x + 3 * y) % 5), BigInt((((t + 1) * (t + 2)) / 2) % 64)]);
  [x, y] = [y, (2 * x + 3 * y) % 5];
}

/** The constants of the rounds (FIPS 202, 3.2.5). */
const ROUNDS = [];
for (let [round, register] = [0, 1]; round < 24; round++) {
  let constant = 0n;
  for (let bit = 0; bit < 7; bit++) {
    if (register & 1) constant |= 1n << BigInt(2 ** bit - 1);
    register = register & 0x80 ? ((register << 1) ^ 0x171) & 0xff : register << 1;
  }
  ROUNDS.push(constant);
}

const rotate = (lane, bits) => ((lane << bits) | (lane >> (64n - bits))) & MASK;

function permute(state) {
  for (const constant of ROUNDS) {
    const columns = [0, 1, 2, 3, 4].map((x) => state[x] ^ state[x + 5] ^ state[x + 10] ^ state[x + 15] ^ state[x + 20]);
    const mixed = state.map((lane, i) => lane ^ columns[(i + 4) % 5] ^ rotate(columns[(i + 1) % 5], 1n));
    const moved = [...mixed];
    for (const [from, to, bits] of MOVES) moved[to] = rotate(mixed[from], bits);
    for (let i = 0; i < 25; i++) {
      const row = i - (i % 5);
      state[i] = moved[i] ^ (~moved[row + ((i + 1) % 5)] & MASK & moved[row + ((i + 2) % 5)]);
    }
    state[0] ^= constant;
  }
}

/** Returns the first bytes of the Keccak-256 of a text of at most 135 ASCII characters, as hex digits. */
function keccakDigits(text) {
  const block = new Uint8Array(136);
  new TextEncoder().encodeInto(text, block);
  block[text.length] ^= 0x01;
  block[135] ^= 0x80;
  const lanes = new DataView(block.buffer);
  const state = Array.from({ length: 25 }, (_, i) => (i < 17 ? lanes.getBigUint64(8 * i, true) : 0n));
  permute(state);
  for (const [i, lane] of state.slice(0, 4).entries()) lanes.setBigUint64(8 * i, lane, true);
  return [...block.subarray(0, 32)].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}

const known = new Map();

/** Writes an address with its checksum in upper and lower case (EIP-55). Returns any other text as it is. */
export function checksummed(text) {
  if (!/^0x[0-9a-f]{40}$/.test(text)) return text;
  if (!known.has(text)) {
    const digits = keccakDigits(text.slice(2));
    known.set(
      text,
      text.replace(/[a-f]/g, (letter, i) => (digits[i - 2] >= '8' ? letter.toUpperCase() : letter)),
    );
  }
  return known.get(text);
}
