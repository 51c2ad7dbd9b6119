import assert from 'node:assert/strict';
import { Wallet } from 'ethers';
import type { Address, AffiliateStatistics, NewAffiliate } from 'intentbook';
import { memoryAccountStore } from 'intentbook/memory';
import type { LocalAccount } from 'viem';
import { hashTypedData, keccak256, toHex } from 'viem';
import { describe, test } from 'vitest';
import { affiliateTypedData } from '../../support/affiliates.ts';
import { scriptedChain } from '../../support/chain.ts';
import { account } from '../../support/orders.ts';
import { accountFixture } from './account-api-fixture.ts';

const INVALID_SIGNATURE =
  'Affiliate has invalid signature for the domain "Service Affiliate" (`domainName` of `client.account`), version "1"';
const DOMAIN = { name: 'Service Affiliate', version: '1' };
const ALICE = account(7_001);
const BOB = account(7_002);

/** The request body of a wallet for a code. */
async function signed(wallet: LocalAccount, code: string) {
  return {
    walletAddress: wallet.address,
    code,
    signedMessage: await wallet.signTypedData(affiliateTypedData(wallet.address, code)),
  };
}

const at = (wallet: { address: string }) => `/affiliate/${wallet.address}`;
const rejection = (status: number, message: string) => [status, { message }];

type Fixture = Awaited<ReturnType<typeof accountFixture>>;

async function post(fixture: Fixture, path: string, body: unknown) {
  const answer = await fixture.send('POST', path, { body });
  assert.equal(answer.header('access-control-allow-origin'), '*');
  return [answer.status, answer.json()];
}

describe('POST /affiliate/{wallet_address}', () => {
  test('binds a code to the wallet that signed it', async () => {
    const fixture = await accountFixture();
    const answer = await post(fixture, at(ALICE), await signed(ALICE, 'ALICE-1'));
    assert.deepEqual(answer, [201, { code: 'ALICE-1', createdAt: '2023-11-14T22:13:20.000Z' }]);
    const found = await fixture.send('GET', at(ALICE));
    assert.deepEqual([found.status, found.json()], [200, { code: 'ALICE-1', createdAt: '2023-11-14T22:13:20.000Z' }]);
    assert.deepEqual((await fixture.send('GET', '/ref-codes/alice-1')).json(), { code: 'ALICE-1' });
  });

  test('accepts signatures of ethers and of viem', async () => {
    const fixture = await accountFixture();
    const wallet = new Wallet(keccak256(toHex('an affiliate')));
    const { domain, types, message } = affiliateTypedData(wallet.address as Address, 'ETHERS_5');
    const signedMessage = await wallet._signTypedData(domain, { AffiliateCode: [...types.AffiliateCode] }, message);
    const body = { walletAddress: wallet.address, code: 'ETHERS_5', signedMessage };
    assert.equal((await post(fixture, at(wallet), body))[0], 201);
  });

  test('accepts addresses in either case, trims and capitalises codes, and ignores unknown keys', async () => {
    const fixture = await accountFixture();
    const body = await signed(ALICE, 'ALICE-1');
    const path = `/affiliate/${ALICE.address.toLowerCase()}`;
    const walletAddress = `0x${ALICE.address.slice(2).toUpperCase()}`;
    const answer = await post(fixture, path, { ...body, walletAddress, code: ' alice-1 ', chainId: 100 });
    assert.equal(answer[0], 201);
    assert.equal((await fixture.accounts.affiliates.get(walletAddress))?.walletAddress, ALICE.address.toLowerCase());
  });

  const good = { walletAddress: ALICE.address, code: 'ALICE-1', signedMessage: `0x${'11'.repeat(65)}` };
  test.each([
    ['a body that is not an object', [], 'the body must be an object, got an array'],
    ['no wallet', { ...good, walletAddress: undefined }, 'walletAddress is missing'],
    ['an invalid wallet', { ...good, walletAddress: '0x12' }, 'walletAddress must be 0x and 40 hex digits, got "0x12"'],
    ['no code', { ...good, code: undefined }, 'code is missing'],
    ['a code that is a number', { ...good, code: 12345 }, 'code must be a string, got 12345'],
    ...['ABCD', 'A'.repeat(21), 'ALICE 1', 'ALICE.1', 'ÄLICE', 'ßßß', 'ſſſſſ', 'ALICE\u0000', ''].map((code) => [
      `the code ${JSON.stringify(code)}`,
      { ...good, code },
      'code must be 5 to 20 letters, digits, "_" and "-"',
    ]),
    ['no signature', { ...good, signedMessage: undefined }, 'signedMessage is missing'],
    ['an empty signature', { ...good, signedMessage: '' }, 'signedMessage must be hex text'],
    ['another wallet in the path', { ...good, walletAddress: BOB.address }, 'Affiliate wallet address mismatch'],
  ] as [string, unknown, string][])('rejects %s with 400', async (_, body, message) => {
    assert.deepEqual(await post(await accountFixture(), at(ALICE), body), rejection(400, message));
  });

  test('rejects an invalid address in the path with 400', async () => {
    const answer = await post(await accountFixture(), '/affiliate/vitalik.eth', good);
    assert.deepEqual(answer, rejection(400, 'walletAddress: must be 0x and 40 hex digits'));
  });

  test('rejects invalid JSON and a wrong media type before anything else', async () => {
    const fixture = await accountFixture();
    assert.equal((await fixture.send('POST', at(ALICE), { body: '{' })).status, 400);
    const answer = await fixture.send('POST', at(ALICE), { body: '{}', headers: { 'content-type': 'text/plain' } });
    assert.deepEqual([answer.status, Object.keys(answer.json() as object)], [415, ['message']]);
  });

  test('rejects with 401 every signature other than that of the wallet over exactly these values', async () => {
    const fixture = await accountFixture();
    const body = await signed(ALICE, 'ALICE-1');
    const wallet = ALICE.address;
    for (const [what, signedMessage] of [
      ['of another wallet', await BOB.signTypedData(affiliateTypedData(wallet, 'ALICE-1'))],
      ['over another code', await ALICE.signTypedData(affiliateTypedData(wallet, 'ALICE-2'))],
      ['over the code in lower case', await ALICE.signTypedData(affiliateTypedData(wallet, 'alice-1'))],
      ['over another chain', await ALICE.signTypedData(affiliateTypedData(wallet, 'ALICE-1', DOMAIN, 100n))],
      [
        'in another domain',
        await ALICE.signTypedData(affiliateTypedData(wallet, 'ALICE-1', { ...DOMAIN, name: 'Other Affiliate' })),
      ],
      [
        'with another domain version',
        await ALICE.signTypedData(affiliateTypedData(wallet, 'ALICE-1', { ...DOMAIN, version: '2' })),
      ],
      [
        'as a personal message',
        await ALICE.signMessage({ message: { raw: hashTypedData(affiliateTypedData(wallet, 'ALICE-1')) } }),
      ],
      ['zeros', `0x${'00'.repeat(65)}`],
      ['with a v of 29', `${body.signedMessage.slice(0, -2)}1d`],
      ['not hexadecimal', 'signed, Alice'],
      ['an odd number of digits', '0x1'],
    ] as const) {
      const answer = await post(fixture, at(ALICE), { ...body, signedMessage });
      assert.deepEqual(answer, rejection(401, INVALID_SIGNATURE), what);
    }
    assert.equal((await post(fixture, at(ALICE), body))[0], 201);
  });

  test('signs under the configured domain name', async () => {
    const fixture = await accountFixture({ affiliates: { domainName: 'Acme Affiliate' } });
    const own = affiliateTypedData(ALICE.address, 'ALICE-1', { name: 'Acme Affiliate', version: '1' });
    const body = { walletAddress: ALICE.address, code: 'ALICE-1', signedMessage: await ALICE.signTypedData(own) };
    assert.equal((await post(fixture, at(ALICE), await signed(ALICE, 'ALICE-1')))[0], 401);
    assert.equal((await post(fixture, at(ALICE), body))[0], 201);
  });

  test('accepts one code per wallet, one wallet per code and a signature once', async () => {
    const fixture = await accountFixture();
    const bound = rejection(409, 'Affiliate wallet address already bound to a code');
    const taken = rejection(409, 'Affiliate code already taken');
    const body = await signed(ALICE, 'ALICE-1');
    assert.equal((await post(fixture, at(ALICE), body))[0], 201);
    assert.deepEqual(await post(fixture, at(ALICE), body), bound);
    assert.deepEqual(await post(fixture, at(ALICE), await signed(ALICE, 'ALICE-2')), bound);
    assert.deepEqual(await post(fixture, at(BOB), await signed(BOB, 'ALICE-1')), taken);
    // The high-s twin is the same signature.
    const n = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
    const { signedMessage } = body;
    const s = (n - BigInt(`0x${signedMessage.slice(66, 130)}`)).toString(16).padStart(64, '0');
    const twin = `${signedMessage.slice(0, 66)}${s}${signedMessage.endsWith('1b') ? '1c' : '1b'}`;
    assert.deepEqual(await post(fixture, at(ALICE), { ...body, signedMessage: twin }), bound);
    // An invalid signature is reported before any information about the code.
    assert.equal((await post(fixture, at(BOB), { ...body, walletAddress: BOB.address }))[0], 401);
  });

  test('stores digest and signature in one canonical form', async () => {
    const memory = memoryAccountStore();
    const kept: unknown[] = [];
    const register = (affiliate: NewAffiliate) => {
      kept.push(affiliate);
      return memory.affiliates.register(affiliate);
    };
    const fixture = await accountFixture({ store: { ...memory, affiliates: { ...memory.affiliates, register } } });
    const body = await signed(ALICE, 'ALICE-1');
    const n = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
    const s = (n - BigInt(`0x${body.signedMessage.slice(66, 130)}`)).toString(16).padStart(64, '0');
    const v = body.signedMessage.endsWith('1b') ? '01' : '00';
    const twin = `${body.signedMessage.slice(0, 66)}${s}${v}`;
    assert.equal((await post(fixture, at(ALICE), { ...body, signedMessage: twin }))[0], 201);
    const walletAddress = ALICE.address.toLowerCase();
    const digest = hashTypedData(affiliateTypedData(ALICE.address, 'ALICE-1'));
    const { signedMessage } = body;
    assert.deepEqual(kept, [{ walletAddress, code: 'ALICE-1', createdAt: fixture.clock.now(), digest, signedMessage }]);
  });

  test('lets exactly one of several concurrent requests bind a code', async () => {
    const fixture = await accountFixture();
    const wallets = Array.from({ length: 12 }, (_, n) => account(7_100 + n));
    const bodies = await Promise.all(wallets.map((wallet) => signed(wallet, 'RACED')));
    const answers = await Promise.all(bodies.map((body) => post(fixture, `/affiliate/${body.walletAddress}`, body)));
    assert.deepEqual(answers.map(([status]) => status).sort(), [201, ...Array(11).fill(409)]);
  });

  test('returns 500 without internal details when the store fails', async () => {
    const memory = memoryAccountStore();
    const register = async () => {
      throw new Error('INSERT INTO secrets');
    };
    const fixture = await accountFixture({ store: { ...memory, affiliates: { ...memory.affiliates, register } } });
    const answer = await post(fixture, at(ALICE), await signed(ALICE, 'ALICE-1'));
    assert.deepEqual(answer, rejection(500, 'Internal server error'));
    assert.deepEqual(fixture.failures.map(String), ['Error: INSERT INTO secrets']);
  });
});

describe('affiliate contract wallet', () => {
  const SAFE = '0x00000000000000000000000000000000005afe00';
  const body = (signedMessage: string) => ({ walletAddress: SAFE, code: 'SAFE-1', signedMessage });
  const digest = hashTypedData(affiliateTypedData(SAFE, 'SAFE-1'));
  const path = `/affiliate/${SAFE}`;

  test('is verified on chain 1 (ERC-1271)', async () => {
    const mainnet = scriptedChain({ isValidSignature: ({ signature }) => ({ valid: signature !== '0xbad0' }) });
    const fixture = await accountFixture({ mainnet });
    assert.deepEqual(await post(fixture, path, body('0xbad0')), rejection(401, INVALID_SIGNATURE));
    assert.equal((await post(fixture, path, body('0xABCDEF')))[0], 201);
    const query = { owner: SAFE, digest, signature: '0xabcdef', pre: [], flashloan: undefined, allowDeployment: true };
    assert.deepEqual(mainnet.recordedCalls[1]?.query, query);
    // In any notation, the signature was used.
    const answer = await post(fixture, path, body('0xabcdef'));
    assert.deepEqual(answer, rejection(409, 'Affiliate wallet address already bound to a code'));
  });

  test('is verified for 65 bytes too, which can be the signature of its owner', async () => {
    const mainnet = scriptedChain({ isValidSignature: { valid: true } });
    const fixture = await accountFixture({ mainnet });
    const signedMessage = await ALICE.signTypedData(affiliateTypedData(SAFE, 'SAFE-1'));
    assert.equal((await post(fixture, path, body(signedMessage)))[0], 201);
  });

  test('is not queried for a signature of its key', async () => {
    const mainnet = scriptedChain({ isValidSignature: new Error('called') });
    const fixture = await accountFixture({ mainnet });
    assert.equal((await post(fixture, at(ALICE), await signed(ALICE, 'ALICE-1')))[0], 201);
    assert.deepEqual(mainnet.recordedCalls, []);
  });

  test('that cannot be queried is 503 and not 401: no chain', async () => {
    const fixture = await accountFixture();
    const answer = await post(fixture, path, body('0xabcdef'));
    assert.deepEqual(answer, rejection(503, 'Signatures of contract wallets cannot be verified here'));
    // A signature with the length of an ECDSA one is verified as such.
    assert.equal((await post(fixture, path, body(`0x${'11'.repeat(65)}`)))[0], 401);
  });

  test.each<[string, NonNullable<Parameters<typeof scriptedChain>[0]['isValidSignature']>]>([
    ['no response', new Error('rate limited by https://key@node')],
    ['silence', 'silence'],
  ])('that cannot be queried is 503 and not 401: %s', async (_, line) => {
    const mainnet = scriptedChain({ isValidSignature: line });
    const fixture = await accountFixture({ mainnet, timeout: 1000 });
    let questions = 0;
    for (const signedMessage of ['0xabcdef', `0x${'11'.repeat(65)}`]) {
      const sent = fixture.send('POST', path, { body: body(signedMessage) });
      questions++;
      while (mainnet.recordedCalls.length < questions) await new Promise((resolve) => setImmediate(resolve));
      fixture.clock.advance(1000);
      const answer = await sent;
      assert.deepEqual([answer.status, answer.json()], rejection(503, 'The signature could not be verified right now'));
      assert.equal(answer.header('retry-after'), '1');
    }
    assert.equal(fixture.failures.length, 2);
  });
});

describe('affiliate code lookup', () => {
  const TERMS = {
    rewardAmount: 10,
    triggerVolume: 250_000,
    timeCapDays: 90,
    volumeCap: 5_000_000,
    revenueSplitAffiliatePct: 75,
    revenueSplitTraderPct: 25,
    revenueSplitDaoPct: 0,
  };

  test('returns the terms of a code without its wallet', async () => {
    const fixture = await accountFixture({ affiliates: { terms: TERMS } });
    await post(fixture, at(ALICE), await signed(ALICE, 'ALICE-1'));
    const { createdAt, ...rest } = (await fixture.send('GET', at(ALICE))).json() as Record<string, unknown>;
    assert.equal(typeof createdAt, 'string');
    assert.deepEqual(rest, { code: 'ALICE-1', ...TERMS });
    assert.deepEqual((await fixture.send('GET', '/ref-codes/ALICE-1')).json(), {
      code: 'ALICE-1',
      traderRewardAmount: 2.5,
      triggerVolume: 250_000,
      timeCapDays: 90,
      volumeCap: 5_000_000,
    });
  });

  const { volumeCap: _, ...INCOMPLETE } = TERMS;
  test.each<[object, string]>([
    [{ terms: null }, 'affiliates.terms: options must be an object such as { rewardAmount }, got null'],
    [{ terms: INCOMPLETE }, 'affiliates.terms.volumeCap must be a number from 0 to 9007199254740991, got undefined'],
    [{ terms: { ...TERMS, rewardAmount: '10' } }, 'affiliates.terms.rewardAmount must be a number'],
    [{ terms: { ...TERMS, triggerVolume: Number.NaN } }, 'affiliates.terms.triggerVolume must be a number'],
    [
      { terms: { ...TERMS, revenueSplitDaoPct: 101 } },
      'affiliates.terms.revenueSplitDaoPct must be a number from 0 to 100',
    ],
    [{ terms: { ...TERMS, timeCap: 1 } }, 'affiliates.terms: unknown option "timeCap"'],
    [{ termsByCode: { 'ALICE-1': INCOMPLETE } }, 'affiliates.termsByCode.ALICE-1.volumeCap must be a number'],
    [{ termsByCode: { 'alice-1': TERMS } }, 'a code of affiliates.termsByCode must be 5 to 20 capital letters'],
  ])('rejects the option %j', async (affiliates, message) => {
    await assert.rejects(accountFixture({ affiliates }), (error: Error) => {
      assert(error instanceof TypeError);
      assert(error.message.includes(message), error.message);
      return true;
    });
  });

  test.each([
    [at(ALICE), 404, 'Affiliate not found'],
    ['/affiliate/0x12', 400, 'account: must be 0x and 40 hex digits, got "0x12"'],
    ['/ref-codes/UNKNOWN', 404, 'Affiliate code not found'],
    ['/ref-codes/ABC', 400, 'code: must be 5 to 20 letters, digits, "_" and "-"'],
    ['/ref-codes/%C3%84LICE', 400, 'code: must be 5 to 20 letters, digits, "_" and "-"'],
  ])('%s is %s', async (path, status, message) => {
    const answer = await (await accountFixture()).send('GET', path);
    assert.deepEqual([answer.status, answer.json()], rejection(status, message));
    assert.equal(answer.header('cache-control'), 'no-store');
  });
});

describe('affiliate statistics', () => {
  const paths = ['affiliate-stats', 'trader-stats', 'trader-activity'].map(
    (name) => `/affiliate/${name}/${ALICE.address}`,
  );

  test('are 503 without a source', async () => {
    const fixture = await accountFixture();
    for (const path of paths) {
      const answer = await fixture.send('GET', path);
      assert.deepEqual([answer.status, answer.json()], rejection(503, 'Affiliate statistics are not configured'));
    }
  });

  test('reject an unknown kind', async () => {
    const { accounts } = await accountFixture({ affiliates: { statistics: {} } });
    const kind = 'toString' as 'trader'; // as a program in JavaScript calls
    await assert.rejects(accounts.affiliates.statistics(kind, ALICE.address), {
      code: 'InvalidParameter',
      message: 'kind: must be one of affiliate, trader, traderActivity',
    });
  });

  test('come from the source for the address in lower case', async () => {
    const recordedCalls: string[] = [];
    class Source implements AffiliateStatistics {
      readonly total = 5;
      async affiliate(address: Address) {
        recordedCalls.push(address);
        return { affiliate_address: address, total_volume: this.total };
      }
      async trader() {
        return undefined;
      }
      async traderActivity(): Promise<never> {
        throw new Error('the analysis is away');
      }
    }
    const fixture = await accountFixture({ affiliates: { statistics: new Source() } });
    const answers = await Promise.all(paths.map((path) => fixture.send('GET', path)));
    const lower = ALICE.address.toLowerCase();
    assert.deepEqual(
      answers.map((answer) => [answer.status, answer.json()]),
      [
        [200, { affiliate_address: lower, total_volume: 5 }],
        rejection(404, 'Trader stats not found'),
        rejection(503, 'Affiliate statistics are not available'),
      ],
    );
    assert.deepEqual(recordedCalls, [lower]);
    assert.deepEqual(fixture.failures.map(String), ['Error: the analysis is away']);
  });
});
