import { postgresAccountStore, postgresStore } from 'intentbook/postgres';
import {
  sanctionsOracle,
  uniswapV2Pools,
  viemChain,
  viemOrderSimulator,
  viemQuoteVerifier,
  viemSimulator,
  viemSource,
} from 'intentbook/viem';
import { describe, expect, test } from 'vitest';

/** Calls a function without the protection of its types, as a program in JavaScript does. */
const calling = (create: (...args: never[]) => unknown, ...args: unknown[]) => {
  return () => create(...(args as never[]));
};

describe('client of viem', () => {
  test.each([
    [viemChain],
    [viemSource],
    [viemSimulator],
    [viemOrderSimulator],
    [viemQuoteVerifier],
    [sanctionsOracle],
    [uniswapV2Pools],
  ])('is required by %o', (create) => {
    const message = `${create.name}: client must be a PublicClient of viem, got `;
    // The URL of a node often contains a key.
    expect(calling(create, 'https://node.example/key', {})).toThrow(new TypeError(`${message}a string`));
    expect(calling(create, undefined, {})).toThrow(new TypeError(`${message}undefined`));
  });
});

describe('options of PostgreSQL', () => {
  test.each([[postgresStore], [postgresAccountStore]])('are required by %o', (create) => {
    const message = `${create.name}: options must be { url: "postgres://…" } or a pool of pg, got `;
    // A connection string contains a password.
    expect(calling(create, 'postgres://user:secret@db/books')).toThrow(new TypeError(`${message}string`));
    expect(calling(create)).toThrow(new TypeError(`${message}undefined`));
    expect(calling(create, {})).toThrow(/`url` must be a connection string/);
  });
});
