import { OrderBookError } from '../errors.ts';
import type { Hex } from '../protocol/hex.ts';
import { parseUid } from '../protocol/uid.ts';

/** Parses a UID and returns it in lower case. @throws OrderBookError `InvalidParameter` if it is not a valid UID. */
export function requireUid(text: string): Hex {
  const uid = parseUid(text);
  if (uid !== undefined) return uid;
  throw new OrderBookError('InvalidParameter', 'uid: must be 0x and 112 hex digits', { parameter: 'uid' });
}
