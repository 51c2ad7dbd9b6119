import { readFileSync } from 'node:fs';
import type { PayoutSource } from 'intentbook';
import { formatDecimal, parseDecimal, parseHex } from '#internal';
import { getVersion, readListLines } from './lists.ts';

/** Digits after the point of an amount in US dollars. */
const SCALE = 6;

/** Milliseconds in which a changed file must stay the same, since it may be written in place. */
const STEADY_TIME = 1000;

/**
 * Creates a source of payouts from a file. A line has an address, the role `affiliate` or `trader`, and an amount in US
 * dollars, separated by blanks or commas. A `#` begins a comment. A changed file is read again when it has stayed the
 * same for a second. Until then, the previous payouts count.
 *
 * @throws TypeError with the file and the number of the line that is not a payout. A changed file that is empty, or
 * whose last line has no line break, may be incomplete: its payouts cannot be read.
 */
export function payoutFile(file: string, steadyTime: number = STEADY_TIME): PayoutSource {
  let version = getVersion(file);
  let seen = { version, at: performance.now() };
  let sums = readPayouts(file);
  const update = () => {
    const current = getVersion(file);
    if (current !== seen.version) seen = { version: current, at: performance.now() };
    if (current === version || performance.now() - seen.at < steadyTime) return;
    const next = readPayouts(file);
    if (sums.size > 0 && (next.size === 0 || !readFileSync(file, 'utf8').endsWith('\n')))
      throw new TypeError(`the payouts ${file} are incomplete: the file must have payouts and end with a line break`);
    sums = next;
    version = current;
  };
  return {
    paidOut(role, address) {
      update();
      return formatDecimal({ digits: sums.get(`${role} ${address}`) ?? 0n, scale: SCALE });
    },
  };
}

/** Returns the sums in millionths of a US dollar, by role and address. */
function readPayouts(file: string): ReadonlyMap<string, bigint> {
  const sums = new Map<string, bigint>();
  for (const { place, text } of readListLines(file, 'the payouts')) {
    const [address, role, amount, ...more] = text.split(/[\s,]+/);
    const account = parseHex(address, 20);
    const decimal = parseDecimal(amount);
    const isComplete = account !== undefined && decimal !== undefined && more.length === 0;
    if (!isComplete || (role !== 'affiliate' && role !== 'trader') || decimal.scale > SCALE)
      throw new TypeError(`${place} must be an address, affiliate or trader, and dollars, got "${text.slice(0, 80)}"`);
    const key = `${role} ${account}`;
    sums.set(key, (sums.get(key) ?? 0n) + decimal.digits * 10n ** BigInt(SCALE - decimal.scale));
  }
  return sums;
}
