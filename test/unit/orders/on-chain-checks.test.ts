import type { Funds } from 'intentbook';
import { describe, expect, test } from 'vitest';
import { FUNDED, scriptedChain } from '../../support/chain.ts';
import { account, COW, signOrder, WETH } from '../../support/orders.ts';
import {
  ALICE,
  accepted,
  admissionFixture,
  alice,
  byContract,
  documentOf,
  NOW,
  orderOf,
  outcome,
  presigned,
  rejection,
  settle,
} from './admission-fixture.ts';

const RELAYER = '0xc92e8bdf79f0507f65a392b0ab4667716bfe0110';
const weth = WETH.toLowerCase();
const ETHER = 10n ** 18n;

const funds = (balance: bigint, allowance: bigint): Funds => ({ balance, allowance });
const hook = { target: COW, callData: '0xabcd', gasLimit: '100000' };
const HOOKED = documentOf({ hooks: { pre: [hook] } });
const loan = { liquidityProvider: COW, protocolAdapter: COW, receiver: COW, token: WETH, amount: '5' };

describe('balance and allowance check', () => {
  test('reads the spender of the vault relayer and accepts sufficient amounts', async () => {
    const chain = scriptedChain({ balanceAndAllowance: funds(ETHER, ETHER) });
    await using fixture = await admissionFixture({ chain });
    await accepted(fixture.book, await orderOf({ sellAmount: ETHER.toString() }));
    expect(chain.recordedCalls.map(({ question, query }) => ({ question, query }))).toEqual([
      { question: 'balanceAndAllowance', query: { owner: alice, token: weth, spender: RELAYER } },
    ]);
  });

  test('reports required and available amounts, the balance first', async () => {
    const sellAmount = ETHER.toString();
    for (const [found, code, available] of [
      [funds(ETHER - 1n, 0n), 'InsufficientBalance', ETHER - 1n],
      [funds(ETHER, ETHER - 1n), 'InsufficientAllowance', ETHER - 1n],
    ] as const) {
      await using fixture = await admissionFixture({ chain: scriptedChain({ balanceAndAllowance: found }) });
      const error = await rejection(fixture.book, await orderOf({ sellAmount }));
      expect(error.code).toBe(code);
      expect(error.data).toMatchObject({
        token: weth,
        owner: alice,
        required: sellAmount,
        available: String(available),
      });
      expect(fixture.calls.insert).toBe(0);
    }
  });

  test.each([
    ['fill-or-kill requires the full amount', {}, {}, ETHER - 1n, 'InsufficientBalance'],
    ['partially fillable requires one atom', { partiallyFillable: true }, {}, 1n, 'accepted'],
    ['partially fillable requires at least one atom', { partiallyFillable: true }, {}, 0n, 'InsufficientBalance'],
    [
      'a full check requires the full amount',
      { partiallyFillable: true },
      { fullBalanceCheck: true },
      ETHER - 1n,
      'InsufficientBalance',
    ],
    [
      'a full check accepts the full amount',
      { partiallyFillable: true },
      { fullBalanceCheck: true },
      ETHER,
      'accepted',
    ],
  ])('%s', async (_, choice, extra, has, expected) => {
    await using fixture = await admissionFixture({ chain: scriptedChain({ balanceAndAllowance: funds(has, has) }) });
    const order = await orderOf({ sellAmount: ETHER.toString(), ...choice });
    expect(await outcome(fixture.book, { ...order, ...extra })).toBe(expected);
  });

  test.each([
    ['presign orders', async () => presigned(await orderOf())],
    ['balances inside the vault', () => orderOf({ sellTokenBalance: 'internal' as const })],
    ['external balances', () => orderOf({ sellTokenBalance: 'external' as const })],
    ['orders in wrappers', () => orderOf({ appData: documentOf({ wrappers: [{ address: COW, data: '0x' }] }) })],
    ['flash loans that cannot be simulated', () => orderOf({ appData: documentOf({ flashloan: loan }) })],
  ])('is skipped for %s', async (_, make) => {
    const chain = scriptedChain({ balanceAndAllowance: funds(0n, 0n) });
    await using fixture = await admissionFixture({ chain });
    expect(await outcome(fixture.book, await make())).toBe('accepted');
    expect(chain.recordedCalls).toEqual([]);
  });

  test('calls only the methods that the chain client has', async () => {
    await using fixture = await admissionFixture({ chain: scriptedChain({ tokenInfo: {} }) });
    expect(await outcome(fixture.book, await orderOf())).toBe('accepted');
    expect(await outcome(fixture.book, byContract(await orderOf()))).toBe('UnsupportedSigningScheme');
  });
});

describe.each(['internal', 'external'] as const)('funds of the vault (%s)', (sellTokenBalance) => {
  const sold = { sellTokenBalance, sellAmount: ETHER.toString() };
  const outcomeOf = async (found: Funds, document: object) => {
    await using fixture = await admissionFixture({ chain: scriptedChain({ vaultFunds: found }) });
    return outcome(fixture.book, await orderOf({ ...sold, appData: documentOf(document) }));
  };
  const hooks = { pre: [hook] };

  test('are checked completely without pre-hooks', async () => {
    expect(await outcomeOf(funds(ETHER, 0n), {})).toBe('InsufficientAllowance');
    expect(await outcomeOf(funds(ETHER, 0n), { hooks: { post: [hook] } })).toBe('InsufficientAllowance');
    expect(await outcomeOf(funds(ETHER, ETHER), {})).toBe('accepted');
  });

  test('are checked without the allowance, which pre-hooks can set', async () => {
    expect(await outcomeOf(funds(ETHER, 0n), { hooks })).toBe('accepted');
    expect(await outcomeOf(funds(ETHER - 1n, ETHER), { hooks })).toBe('InsufficientBalance');
  });

  test('are not checked with a flash loan, which can provide them', async () => {
    expect(await outcomeOf(funds(0n, 0n), { flashloan: loan })).toBe('accepted');
  });
});

describe('pre-hooks', () => {
  test('are simulated if the chain supports it, and the results are checked in order', async () => {
    for (const [found, code] of [
      [{ balance: 0n, allowance: 0n, transferRevert: '0x' }, 'InsufficientBalance'],
      [{ balance: ETHER, allowance: 0n, transferRevert: '0x' }, 'InsufficientAllowance'],
      [{ balance: ETHER, allowance: ETHER, transferRevert: '0x08c379a0' }, 'TransferSimulationFailed'],
      [{ balance: ETHER, allowance: ETHER, transferRevert: undefined }, 'accepted'],
    ] as const) {
      const chain = scriptedChain({ simulate: found, balanceAndAllowance: funds(0n, 0n) });
      await using fixture = await admissionFixture({ chain });
      expect(await outcome(fixture.book, await orderOf({ appData: HOOKED, sellAmount: ETHER.toString() }))).toBe(code);
      expect(chain.recordedCalls.map(({ question }) => question)).toEqual(['simulate']);
      const { query } = chain.recordedCalls[0] ?? {};
      expect(query).toMatchObject({ owner: alice, token: weth, spender: RELAYER, amount: ETHER, flashloan: undefined });
      expect(query?.pre).toHaveLength(1);
    }
  });

  test('report their revert data', async () => {
    const simulate = { ...FUNDED, transferRevert: '0xDEADBEEF' } as const;
    await using fixture = await admissionFixture({ chain: scriptedChain({ simulate }) });
    const { data } = await rejection(fixture.book, await orderOf({ appData: HOOKED }));
    expect(data).toMatchObject({ token: weth, owner: alice, revertData: '0xDEADBEEF' });
  });

  test('skip the allowance check without simulation, but not the balance check', async () => {
    await using without = await admissionFixture({ chain: scriptedChain({ balanceAndAllowance: funds(ETHER, 0n) }) });
    expect(await outcome(without.book, await orderOf({ appData: HOOKED, sellAmount: ETHER.toString() }))).toBe(
      'accepted',
    );
    await using poor = await admissionFixture({ chain: scriptedChain({ balanceAndAllowance: funds(0n, 0n) }) });
    expect(await outcome(poor.book, await orderOf({ appData: HOOKED }))).toBe('InsufficientBalance');
  });

  test('include a flash loan in the simulation', async () => {
    const chain = scriptedChain({ simulate: { ...FUNDED, transferRevert: undefined } });
    await using fixture = await admissionFixture({ chain });
    expect(await outcome(fixture.book, await orderOf({ appData: documentOf({ flashloan: loan }) }))).toBe('accepted');
    expect(chain.recordedCalls[0]?.query.flashloan).toMatchObject({ amount: 5n, token: weth });
  });
});

describe('contract signature check', () => {
  test('calls the contract of the owner with digest, bytes and pre-hooks', async () => {
    const chain = scriptedChain({ isValidSignature: { valid: true } });
    await using fixture = await admissionFixture({ chain });
    const uid = await accepted(fixture.book, byContract(await orderOf({ appData: HOOKED }), '0xabcdef'));
    expect(chain.recordedCalls.map(({ question, query }) => ({ question, query }))).toMatchObject([
      { question: 'isValidSignature', query: { owner: alice, digest: uid.slice(0, 66), signature: '0xabcdef' } },
    ]);
    expect(chain.recordedCalls[0]?.query.pre).toHaveLength(1);
    expect(await fixture.book.orders.get(uid)).toMatchObject({ signature: '0xabcdef', status: 'open', owner: alice });
  });

  test('rejects invalid signatures', async () => {
    const chain = scriptedChain({ isValidSignature: { valid: false, reason: 'no contract at this address' } });
    await using fixture = await admissionFixture({ chain });
    const error = await rejection(fixture.book, byContract(await orderOf()));
    expect(error.code).toBe('InvalidSignature');
    expect(error.message).toMatch(/no contract at this address/);
    expect(error.data).toMatchObject({ scheme: 'eip1271', expected: alice, reason: 'no contract at this address' });
    expect(error.data?.['digest']).toMatch(/^0x[0-9a-f]{64}$/);
  });

  test('counts verified orders as open and unverified ones as pending', async () => {
    const limits = { maxOpenOrders: 1, maxPendingOrders: 0 };
    await using verified = await admissionFixture({
      chain: scriptedChain({ isValidSignature: { valid: true } }),
      limits,
    });
    expect(await outcome(verified.book, byContract(await orderOf()))).toBe('accepted');
    expect(await outcome(verified.book, byContract(await orderOf()))).toBe('TooManyLimitOrders');
    await using trusting = await admissionFixture({ eip1271: 'accept-unverified', limits });
    expect((await rejection(trusting.book, byContract(await orderOf()))).data).toMatchObject({
      limit: 0,
      quotaClass: 'pending',
    });
    // A chain that supports the check is queried, whatever is accepted without a chain.
    const chain = scriptedChain({ isValidSignature: { valid: false } });
    await using both = await admissionFixture({ eip1271: 'accept-unverified', chain });
    expect(await outcome(both.book, byContract(await orderOf()))).toBe('InvalidSignature');
  });

  test('runs concurrently with the funds check and takes precedence over it', async () => {
    const chain = scriptedChain({ isValidSignature: { valid: false }, balanceAndAllowance: funds(0n, 0n) });
    await using fixture = await admissionFixture({ chain });
    expect(await outcome(fixture.book, byContract(await orderOf()))).toBe('InvalidSignature');
    expect(chain.recordedCalls.map(({ question }) => question)).toEqual(['isValidSignature', 'balanceAndAllowance']);
  });

  test('rejects without waiting for the funds check', async () => {
    const chain = scriptedChain({ isValidSignature: { valid: false }, balanceAndAllowance: 'silence' });
    await using fixture = await admissionFixture({ chain });
    // The first expiry sweep ends and sets its timer.
    for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve));
    const timers = fixture.clock.pending;
    expect(await outcome(fixture.book, byContract(await orderOf()))).toBe('InvalidSignature');
    expect(chain.recordedCalls[1]?.signal.aborted).toBe(true);
    expect(fixture.clock.pending).toBe(timers);
    expect(fixture.failures).toEqual([]);
  });
});

describe('chain client that does not respond', () => {
  test('rejects exactly at the deadline, aborts the call and stores nothing', async () => {
    const chain = scriptedChain({ balanceAndAllowance: 'silence' });
    await using fixture = await admissionFixture({ chain, checkTimeout: 700 });
    const order = await orderOf();
    let error: unknown;
    const submitting = rejection(fixture.book, order).then((rejected) => {
      error = rejected;
    });
    await settle();
    fixture.clock.advance(699);
    await settle();
    expect([error, chain.recordedCalls[0]?.signal.aborted]).toEqual([undefined, false]);
    fixture.clock.advance(1);
    await submitting;
    expect(error).toMatchObject({
      code: 'ChainUnavailable',
      retryable: true,
      data: { check: 'balanceAndAllowance', reason: 'timeout' },
    });
    expect(chain.recordedCalls[0]?.signal.aborted).toBe(true);
    expect(fixture.calls.insert).toBe(0);
    expect(fixture.failures).toMatchObject([{ name: 'DeadlineError' }]);
  });

  test.each([
    ['a failure', new Error('http://node.example/secret-key is down')],
    ['nonsense', { balance: 1, allowance: 1 } as never],
    ['a negative amount', funds(-1n, 0n)],
  ])('rejects %s as ChainUnavailable, and reports the cause only to the host', async (_, line) => {
    await using fixture = await admissionFixture({
      chain: scriptedChain({ balanceAndAllowance: line }),
    });
    const error = await rejection(fixture.book, await orderOf());
    expect(error).toMatchObject({
      code: 'ChainUnavailable',
      data: { check: 'balanceAndAllowance', reason: 'failure' },
    });
    expect(JSON.stringify(error)).not.toMatch(/secret/);
    expect(fixture.failures).toHaveLength(1);
  });

  test('rejects a token that does not return its amounts, and names no amount', async () => {
    await using fixture = await admissionFixture({ chain: scriptedChain({ balanceAndAllowance: () => undefined }) });
    const error = await rejection(fixture.book, await orderOf());
    expect(error).toMatchObject({ code: 'TransferSimulationFailed', data: { token: expect.any(String) } });
    expect(JSON.stringify(error)).not.toMatch(/available/);
    expect(fixture.failures).toEqual([]);
  });

  test.each([[{} as never], [{ valid: 'yes' } as never], [null as never]])(
    'rejects %j as an invalid signature check result',
    async (line) => {
      await using fixture = await admissionFixture({ chain: scriptedChain({ isValidSignature: () => line }) });
      expect(await outcome(fixture.book, byContract(await orderOf()))).toBe('ChainUnavailable');
    },
  );

  test('does not hide a rejection of another check', async () => {
    const chain = scriptedChain({ isValidSignature: new Error('down'), balanceAndAllowance: funds(0n, 0n) });
    await using fixture = await admissionFixture({ chain });
    expect(await outcome(fixture.book, byContract(await orderOf()))).toBe('InsufficientBalance');
  });

  test('has no effect with a late response', async () => {
    let late = (_: Funds) => {};
    const chain = scriptedChain({
      balanceAndAllowance: () =>
        new Promise((resolve) => {
          late = resolve;
        }),
    });
    await using fixture = await admissionFixture({ chain });
    const order = await orderOf();
    const submitting = outcome(fixture.book, order);
    await settle();
    fixture.clock.advance(5000);
    expect(await submitting).toBe('ChainUnavailable');
    late(FUNDED);
    await settle();
    expect(await fixture.book.orders.list({ owner: ALICE.address })).toMatchObject({ orders: [] });
  });

  test('accepts the same order after it recovers', async () => {
    let down = true;
    const chain = scriptedChain({
      balanceAndAllowance: () => {
        if (down) throw new Error('down');
        return FUNDED;
      },
    });
    await using fixture = await admissionFixture({ chain });
    const order = await orderOf();
    expect(await outcome(fixture.book, order)).toBe('ChainUnavailable');
    down = false;
    expect(await outcome(fixture.book, order)).toBe('accepted');
  });
});

test('chain checks run at most four calls per owner, and owners do not delay each other', async () => {
  const waiting: (() => void)[] = [];
  let running = 0;
  let most = 0;
  const perOwner = new Map<string, number>();
  const chain = scriptedChain({
    async balanceAndAllowance({ owner }) {
      perOwner.set(owner, (perOwner.get(owner) ?? 0) + 1);
      most = Math.max(most, ...perOwner.values());
      running++;
      await new Promise<void>((resolve) => waiting.push(resolve));
      perOwner.set(owner, (perOwner.get(owner) ?? 0) - 1);
      running--;
      return FUNDED;
    },
  });
  await using fixture = await admissionFixture({ chain });
  const signers = [account(21), account(22)];
  const orders = await Promise.all(
    signers.flatMap((signer) =>
      Array.from({ length: 10 }, (_, i) => signOrder(signer, { validTo: NOW + 600, sellAmount: `${i + 1}` })),
    ),
  );
  const results = Promise.all(orders.map((order) => outcome(fixture.book, order)));
  await settle();
  expect([running, most]).toEqual([8, 4]);
  while (waiting.length > 0) {
    for (const answer of waiting.splice(0)) answer();
    await settle();
  }
  expect(await results).toEqual(orders.map(() => 'accepted'));
  expect(most).toBe(4);
  expect(chain.recordedCalls).toHaveLength(20);
});

test('chain check deadline starts when the check is queued', async () => {
  const chain = scriptedChain({ balanceAndAllowance: 'silence' });
  await using fixture = await admissionFixture({ chain, checkTimeout: 1000 });
  const orders = await Promise.all(Array.from({ length: 5 }, () => orderOf()));
  const results = orders.map((order) => outcome(fixture.book, order));
  await settle();
  expect(chain.recordedCalls).toHaveLength(4);
  fixture.clock.advance(1000);
  await settle();
  expect(chain.recordedCalls.map(({ signal }) => signal.aborted)).toEqual([true, true, true, true, false]);
  fixture.clock.advance(1000);
  expect(await Promise.all(results)).toEqual(orders.map(() => 'ChainUnavailable'));
});

test('unknown settlement contract requires an explicit vault relayer', async () => {
  const settlementContract = COW;
  const chain = scriptedChain({ balanceAndAllowance: FUNDED });
  await expect(admissionFixture({ settlementContract, chain })).rejects.toThrow(/vaultRelayer is required/);
  await using fixture = await admissionFixture({ settlementContract, chain, vaultRelayer: WETH });
  const order = await signOrder(
    ALICE,
    { validTo: NOW + 600 },
    { domain: { chainId: 11155111, settlementContract: COW } },
  );
  expect(await outcome(fixture.book, order)).toBe('accepted');
  expect(chain.recordedCalls[0]?.query.spender).toBe(weth);
});
