import type { Address, AuctionOrder, Hex, SolverDriver } from 'intentbook';
import { httpDriver } from 'intentbook/drivers';
import { describe, expect, it } from 'vitest';
import { parseRunOptions } from '../../../../src/auctions/drivers/run-options.ts';
import { parseSolutions } from '../../../../src/auctions/drivers/solutions.ts';
import { NATIVE_MARKER } from '../../../../src/protocol/chains.ts';

const driver: SolverDriver = { name: 'a', solve: async () => ({ solutions: [] }), settle: async () => {} };
const options = { drivers: [driver] };

describe('options of an auction run', () => {
  it.each([
    [{}, 'drivers must be a list of drivers, got undefined'],
    [{ drivers: 'http://user:secret@host' }, 'drivers must be a list of drivers, got a string'],
    [
      { drivers: ['http://user:secret@host'] },
      'each of drivers must be an object with solve(), settle(), got a string',
    ],
    [{ drivers: [httpDriver] }, 'each of drivers must be an object with solve(), settle(), got a function'],
    [{ drivers: [undefined] }, 'each of drivers must be an object with solve(), settle(), got an object'],
    [{ drivers: [{ ...driver, name: undefined }] }, 'name of a driver must be a text, got undefined'],
    [
      { drivers: [{ ...driver, submissionAddress: '0x1' }] },
      'submissionAddress of a driver must be 0x and 40 hex digits',
    ],
    [{ drivers: [{ ...driver, acceptsDeltas: 'full' }] }, 'acceptsDeltas of a driver must be a boolean, got full'],
    [{ ...options, trustedTokens: '0x1' }, 'trustedTokens must be a list of addresses, got 0x1'],
    [{ ...options, onRound: 'log' }, 'onRound must be a function, got a string'],
    [{ ...options, onSettled: {} }, 'onSettled must be a function, got an object'],
  ])('are checked (%#)', (malformed, message) => {
    expect(() => parseRunOptions(malformed as never)).toThrow(TypeError);
    expect(() => parseRunOptions(malformed as never)).toThrow(`auctions.run: ${message}`);
    expect(() => parseRunOptions(malformed as never)).not.toThrow('secret');
  });

  it('keep the drivers of a host, whose methods may use private members', () => {
    expect(parseRunOptions(options).drivers[0]).toBe(driver);
  });
});

describe('solutions of a driver', () => {
  it('may name its account in another letter case', () => {
    const account = '0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2';
    const orders = {
      [`0x${'11'.repeat(56)}`]: {
        side: 'sell',
        sellToken: `0x${'aa'.repeat(20)}`,
        limitSell: '2',
        buyToken: `0x${'bb'.repeat(20)}`,
        limitBuy: '1',
        executedSell: '2',
        executedBuy: '1',
      },
    };
    const context = {
      driver: 'a',
      submissionAddress: account,
      orders: new Map(),
      maxSolutions: 1,
      maxPriceSpread: 0,
      wrappedNative: undefined,
    } as const;
    for (const submissionAddress of [account, account.toLowerCase()]) {
      const response = { solutions: [{ solutionId: 0, submissionAddress, orders }] };
      const { solutions, problems } = parseSolutions(response, context);
      expect([solutions.map(({ solver }) => solver), problems]).toEqual([[account.toLowerCase()], []]);
    }
  });

  it('must buy wrapped and native currency at one price', () => {
    const wrappedNative: Address = `0x${'bb'.repeat(20)}`;
    const [sellToken, solver]: [Address, Address] = [`0x${'aa'.repeat(20)}`, `0x${'55'.repeat(20)}`];
    const [first, second]: [Hex, Hex] = [`0x${'11'.repeat(56)}`, `0x${'22'.repeat(56)}`];
    const terms = { kind: 'sell', sellToken, sellAmount: '1000', buyAmount: '1', executed: '0', protocolFees: [] };
    // The members that are compared.
    const orderOf = (uid: Hex, buyToken: Address) => ({ ...terms, uid, buyToken }) as unknown as AuctionOrder;
    const orders = new Map([
      [first, orderOf(first, wrappedNative)],
      [second, orderOf(second, NATIVE_MARKER)],
    ]);
    const execution = { side: 'sell', sellToken, limitSell: '1000', limitBuy: '1', executedSell: '1000' };
    const parse = (executedBuy: string) => {
      const executed = {
        [first]: { ...execution, buyToken: wrappedNative, executedBuy: '1200' },
        [second]: { ...execution, buyToken: NATIVE_MARKER, executedBuy },
      };
      const response = { solutions: [{ solutionId: 1, submissionAddress: solver, orders: executed }] };
      const limits = { maxSolutions: 1, maxPriceSpread: 10_000 };
      return parseSolutions(response, { driver: 'a', submissionAddress: solver, orders, wrappedNative, ...limits });
    };
    expect(parse('1195').problems).toEqual([]);
    expect(parse('1000').problems).toEqual([expect.stringContaining('another price than orders of the same')]);
  });
});
