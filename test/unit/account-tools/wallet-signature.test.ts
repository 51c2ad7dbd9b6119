import type { ChainClient, Hex } from 'intentbook';
import { describe, expect, test } from 'vitest';
import type { WalletVerifierOptions } from '../../../src/account-tools/wallet-signature.ts';
import { createWalletVerifier } from '../../../src/account-tools/wallet-signature.ts';
import { hexToBytes } from '../../../src/protocol/hex.ts';
import { manualClock } from '../../support/clock.ts';
import { account } from '../../support/orders.ts';

const ALICE = account(1);
const WALLET = ALICE.address.toLowerCase() as Hex;
const CONTRACT: Hex = `0x${'cc'.repeat(20)}`;
const DIGEST: Hex = `0x${'12'.repeat(32)}`;
const signature = (await ALICE.sign?.({ hash: DIGEST })) ?? '0x';

type Check = NonNullable<ChainClient['isValidSignature']>;

function fixture(isValidSignature?: Check) {
  const queries: unknown[] = [];
  const failures: unknown[] = [];
  const clock = manualClock();
  const options: WalletVerifierOptions = {
    mainnet: isValidSignature && {
      isValidSignature(query, call) {
        queries.push(query);
        return isValidSignature(query, call);
      },
    },
    clock,
    deadline: 1000,
    onFailure: (failure) => void failures.push(failure),
  };
  const verify = createWalletVerifier(options);
  return {
    queries,
    failures,
    clock,
    verify: (text: string, wallet = WALLET) => verify(wallet, hexToBytes(DIGEST), text),
  };
}

const INVALID = { status: 'invalid' };

describe('signature of a wallet', () => {
  test('of its key is valid without a chain, and normalised', async () => {
    const { verify } = fixture();
    expect(await verify(signature)).toEqual({ status: 'valid', signature });
    expect(await verify(signature.toUpperCase().replace('0X', '0x'))).toEqual({ status: 'valid', signature });
  });

  test('is invalid if it is no hex text, or of another key', async () => {
    const { verify } = fixture();
    expect(await verify('signature')).toEqual(INVALID);
    expect(await verify(signature, CONTRACT)).toEqual(INVALID);
    expect(await verify(`0x${'00'.repeat(65)}`)).toEqual(INVALID);
  });

  test.each([0, 64, 66])('of %d bytes cannot be verified without a chain', async (size) => {
    const { verify } = fixture();
    const expected = { status: 'unverifiable', reason: 'no chain' };
    expect(await verify(`0x${'00'.repeat(size)}`, CONTRACT)).toEqual(expected);
  });

  test('of a contract is verified by chain 1, also before its deployment', async () => {
    const { verify, queries } = fixture(async () => ({ valid: true }) as Awaited<ReturnType<Check>>);
    expect(await verify('0x1234', CONTRACT)).toEqual({ status: 'valid', signature: '0x1234' });
    expect(await verify(signature, CONTRACT)).toEqual({ status: 'valid', signature });
    expect(queries[0]).toEqual({
      owner: CONTRACT,
      digest: DIGEST,
      signature: '0x1234',
      pre: [],
      flashloan: undefined,
      allowDeployment: true,
    });
    await verify(signature);
    expect(queries).toHaveLength(2);
  });

  test('is stored without its deployment', async () => {
    const { verify } = fixture(async () => ({ valid: true, signature: '0x99' }) as Awaited<ReturnType<Check>>);
    expect(await verify('0x1234', CONTRACT)).toEqual({ status: 'valid', signature: '0x99' });
  });

  test('is invalid if the contract rejects it', async () => {
    const { verify } = fixture(async () => ({ valid: false }) as Awaited<ReturnType<Check>>);
    expect(await verify('0x1234', CONTRACT)).toEqual(INVALID);
  });

  test('cannot be verified while chain 1 fails or does not respond in time', async () => {
    const broken = new Error('down');
    const failing = fixture(() => Promise.reject(broken));
    const expected = { status: 'unverifiable', reason: 'no response' };
    expect(await failing.verify('0x1234', CONTRACT)).toEqual(expected);
    expect(failing.failures).toEqual([broken]);
    const silent = fixture(() => new Promise<never>(() => {}));
    const pending = silent.verify('0x1234', CONTRACT);
    for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve));
    silent.clock.advance(1000);
    expect(await pending).toEqual(expected);
    expect(silent.failures).toHaveLength(1);
  });
});
