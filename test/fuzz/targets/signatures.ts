import assert from 'node:assert/strict';
import { wasmRecovery } from '../../../src/crypto/wasm.ts';
import { formatDecimal, parseDecimal } from '../../../src/protocol/decimal.ts';
import { bytesToHex, hexToBytes, packUid, parseHex, parseUid, unpackUid } from '../../../src/protocol/hex.ts';
import {
  type EcdsaSignature,
  parseEcdsaSignature,
  parseSignature,
  SECP256K1_N,
  SIGNING_SCHEMES,
} from '../../../src/protocol/signature.ts';
import { parseUint256, writeUint256 } from '../../../src/protocol/uint256.ts';
import type { Target } from '../target.ts';
import { textOf } from '../target.ts';

const N = SECP256K1_N.toString(16);
const HALF = (SECP256K1_N >> 1n).toString(16).padStart(64, '0');
const WORDS = [
  '0x',
  '00',
  '01',
  '1b',
  '1c',
  '1B',
  'ff',
  'FF',
  N,
  HALF,
  '0'.repeat(64),
  'f'.repeat(64),
  'aB'.repeat(32),
  'eip712 ',
  'ethsign ',
  'presign ',
  'eip1271 ',
  'x',
  ' ',
  '０',
];
const SIGNATURE = `0x${'5c'.repeat(32)}${'2d'.repeat(32)}1b`;

/** A scheme, a blank, and the signature text. */
const signature: Target = {
  name: 'signature',
  words: WORDS,
  seeds: [`eip712 ${SIGNATURE}`, 'presign 0x', `ethsign 0x${'5c'.repeat(32)}${N.slice(0, 62)}0001`, 'eip1271 0xABcd'],
  run(bytes) {
    const [name = '', text = ''] = textOf(bytes).split(/ (.*)/s);
    const hex = parseHex(text);
    const scheme = SIGNING_SCHEMES.find((known) => known === name);
    if (hex === undefined || scheme === undefined) return 'neither scheme nor hex';
    assert.equal(bytesToHex(hexToBytes(hex)), hex);
    const parsed = parseSignature(scheme, hex);
    if (typeof parsed === 'string') return parsed;
    assert.deepEqual(parseSignature(scheme, parsed.hex), parsed, 'its stored form is its own stored form');
    return parsed;
  },
};

const recovery = await wasmRecovery();
const DIGEST = new Uint8Array(32).fill(7);

/** The 65 bytes of a signature that has the same signer in each of its forms. */
const recovered: Target = {
  name: 'recovered-signature',
  words: ['\0', '\x01', '\x1b', '\x1c'],
  seeds: [`${'\x5c'.repeat(32)}${'\x2d'.repeat(32)}\x1b`, `${'\0'.repeat(31)}\x01${'\0'.repeat(31)}\x01\x01`],
  slow: true,
  run(bytes) {
    const parsed = parseEcdsaSignature(bytesToHex(bytes));
    if (typeof parsed === 'string') return parsed;
    const signer = signerOf(parsed);
    const twin = parseEcdsaSignature(twinOf(parsed));
    assert(typeof twin === 'object');
    assert.equal(twin.hex, parsed.hex, 'a signature and its twin have one stored form');
    assert.equal(signerOf(twin), signer);
    return [parsed.hex, signer];
  },
};

const signerOf = ({ rs, recoveryId }: EcdsaSignature) => {
  const key = recovery.recover(DIGEST, rs, recoveryId);
  return key && bytesToHex(key);
};

/** Returns the equivalent signature with the other s and the other parity. */
function twinOf({ hex, recoveryId }: EcdsaSignature): `0x${string}` {
  const s = (SECP256K1_N - BigInt(`0x${hex.slice(66, 130)}`)).toString(16).padStart(64, '0');
  return `0x${hex.slice(2, 66)}${s}${recoveryId === 0 ? '1c' : '1b'}`;
}

const uid: Target = {
  name: 'uid',
  words: WORDS,
  seeds: [`0x${'aB'.repeat(56)}`],
  run(bytes) {
    const parsed = parseUid(textOf(bytes));
    if (parsed === undefined) return undefined;
    assert.equal(packUid(unpackUid(parsed)), parsed);
    return unpackUid(parsed);
  },
};

const amount: Target = {
  name: 'amount',
  words: ['0', '00', '9', String(2n ** 256n - 1n), String(2n ** 256n), '1e5', '0x', '-', '+', '.', ' ', '１', '\n'],
  seeds: ['0', '1000000000000000000', String(2n ** 256n - 1n), '0'.repeat(90)],
  run(bytes) {
    const parsed = parseUint256(textOf(bytes));
    if (typeof parsed === 'string') return parsed;
    assert.equal(parseUint256(String(parsed)), parsed);
    const word = new Uint8Array(32);
    writeUint256(new DataView(word.buffer), 0, parsed);
    assert.equal(BigInt(bytesToHex(word)), parsed);
    return parsed;
  },
};

const decimal: Target = {
  name: 'decimal',
  words: ['0', '.', 'e', 'E', '-', '+', '1e-400', '1e400', '400', '401', '999', '00', ' ', '1.5', 'Infinity', 'NaN'],
  seeds: ['1.5', '4e-10', '15000000000', '0.00029481', '1e400'],
  run(bytes) {
    const parsed = parseDecimal(textOf(bytes));
    if (parsed === undefined) return undefined;
    assert(parsed.scale >= 0 && parsed.digits >= 0n);
    const text = formatDecimal(parsed);
    assert.match(text, /^(0|[1-9]\d*)(\.\d*[1-9])?$/);
    const again = parseDecimal(text);
    // The plain form can exceed the length limit of the parser.
    if (again !== undefined) assert.equal(formatDecimal(again), text);
    return text;
  },
};

export const SIGNATURE_TARGETS: readonly Target[] = [signature, recovered, uid, amount, decimal];
