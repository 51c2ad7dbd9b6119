import { describe, expect, test } from 'vitest';
import { requireAccount, requireChainId, requireToken } from '../../../src/validation/parameters.ts';

const ALICE = `0x${'a1'.repeat(20)}`;
const TOKEN = `0x${'Ab'.repeat(20)}`;

describe('parameters of books and of the account interface', () => {
  test.each([0, -1, 1.5, 2 ** 53, '1'])('reject the chain id %s', (chainId) => {
    // An untyped application.
    expect(() => requireChainId(chainId as number)).toThrow(
      expect.objectContaining({
        code: 'InvalidParameter',
        message: 'chainId: must be a positive integer',
        data: { parameter: 'chainId' },
      }),
    );
  });

  test('name the parameter of a malformed address', () => {
    expect(requireToken(TOKEN)).toBe(TOKEN.toLowerCase());
    expect(() => requireToken('0x12', 'baseToken')).toThrow(
      expect.objectContaining({
        code: 'InvalidParameter',
        message: 'baseToken: must be 0x and 40 hex digits, got "0x12"',
        data: { parameter: 'baseToken' },
      }),
    );
  });

  test('require the address of an account', () => {
    expect(requireAccount(ALICE.toUpperCase().replace('0X', '0x'))).toBe(ALICE);
    expect(() => requireAccount('alice')).toThrow(
      expect.objectContaining({
        message: 'account: must be 0x and 40 hex digits, got "alice"',
        data: { parameter: 'account' },
      }),
    );
  });
});
