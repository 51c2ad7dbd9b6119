import type { Address, Hex } from '../protocol/hex.ts';

/** A trade, as it counts for the affiliate programme. It is stored once and never valued again. */
export interface ReferredTrade {
  /** The owner of the order, or the account that placed it on chain. */
  readonly trader: Address;
  /** Milliseconds since 1970. */
  readonly at: number;
  /** The referrer code of the order. Absent: the order has none, and only its time counts. */
  readonly referral?: Referral;
}

/** The data of a trade whose order has a referrer code. */
export interface Referral {
  /** In upper case. */
  readonly code: string;
  /** The wallet to which the code was bound at the time of the trade; null if there was none. */
  readonly affiliate: Address | null;
  readonly uid: Hex;
  readonly txHash: Hex;
  readonly sellToken: Address;
  readonly buyToken: Address;
  /** Atoms, without the signed fee. */
  readonly sellAmount: string;
  /** Atoms. */
  readonly buyAmount: string;
  /** Value at the time of the trade, in millionths of a US dollar; null if no price was known. */
  readonly value: string | null;
}

/** The form of a code, in either case. Checked before the conversion, as for the registration. */
const CODE = /^[A-Za-z0-9_-]{5,20}$/;

/** The key of a referrer, or a letter that is escaped. */
const USED_KEY = /"referrer"|\\u/;

/** Returns the referrer code of an app-data document, in upper case. `undefined` if it has no valid one. */
export function parseReferrerCode(document: string | null): string | undefined {
  if (document === null || !USED_KEY.test(document)) return undefined; // most documents are not parsed
  try {
    // A missing member, and a code that is not text, throw a TypeError.
    const code: string = JSON.parse(document).metadata.referrer.code.trim();
    return CODE.test(code) ? code.toUpperCase() : undefined;
  } catch {
    return undefined;
  }
}
