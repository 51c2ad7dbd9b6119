/**
 * Parses an amount of whole tokens, such as `1.5`, into atoms.
 *
 * @throws TypeError if the amount is malformed or has more decimal places than the token.
 */
export function toAtoms(amount: string | number | bigint, decimals: number): bigint {
  const [, whole = '', fraction = ''] = /^(\d+)(?:\.(\d+))?$/.exec(String(amount)) ?? [];
  if (whole === '' || fraction.length > decimals) {
    throw new TypeError(`amount must be a decimal number with at most ${decimals} decimal places, got "${amount}"`);
  }
  return BigInt(whole + fraction.padEnd(decimals, '0'));
}
