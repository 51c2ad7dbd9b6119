import { readFileSync, statSync } from 'node:fs';
import type { PayoutSource } from 'intentbook';
import { formatDecimal, parseDecimal, parseHex } from '#internal';

/** Digits after the point of an amount in US dollars. */
const SCALE = 6;

/**
 * Creates a source of payouts from a file. A line has an address, the role `affiliate` or `trader`, and an amount in US
 * dollars, separated by blanks or commas. A `#` begins a comment. The file is read again when it has changed.
 *
 * @throws TypeError with the file and the number of the line that is not a payout.
 */
export function payoutFile(file: string): PayoutSource {
  let version = getVersion(file);
  let sums = readPayouts(file);
  return {
    paidOut(role, address) {
      const current = getVersion(file);
      if (current !== version) {
        sums = readPayouts(file);
        version = current;
      }
      return formatDecimal({ digits: sums.get(`${role} ${address}`) ?? 0n, scale: SCALE });
    },
  };
}

/** Returns a text that changes when the file is written or replaced. */
function getVersion(file: string): string {
  const stats = statSync(file, { throwIfNoEntry: false });
  return stats === undefined ? 'absent' : `${stats.ino} ${stats.mtimeMs} ${stats.size}`;
}

/** Returns the sums in millionths of a US dollar, by role and address. */
function readPayouts(file: string): ReadonlyMap<string, bigint> {
  const sums = new Map<string, bigint>();
  for (const [i, line] of readText(file).split('\n').entries()) {
    const text = line.replace(/#.*/s, '').trim();
    if (text === '') continue;
    const [address, role, amount, ...more] = text.split(/[\s,]+/);
    const account = parseHex(address, 20);
    const decimal = parseDecimal(amount);
    const isComplete = account !== undefined && decimal !== undefined && more.length === 0;
    if (!isComplete || (role !== 'affiliate' && role !== 'trader') || decimal.scale > SCALE) {
      throw new TypeError(
        `${file}, line ${i + 1} must be an address, affiliate or trader, and dollars, got "${text.slice(0, 80)}"`,
      );
    }
    const key = `${role} ${account}`;
    sums.set(key, (sums.get(key) ?? 0n) + decimal.digits * 10n ** BigInt(SCALE - decimal.scale));
  }
  return sums;
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (cause) {
    throw new TypeError(`the payouts ${file} cannot be read`, { cause });
  }
}
