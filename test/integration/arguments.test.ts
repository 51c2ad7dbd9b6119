import { createApi, createOrderBook } from 'intentbook';
import { expressRouter } from 'intentbook/express';
import { fastifyPlugin } from 'intentbook/fastify';
import { fetchHandler } from 'intentbook/fetch';
import { memoryStore } from 'intentbook/memory';
import { nodeHandler } from 'intentbook/node-http';
import { postgresAccountStore, postgresStore } from 'intentbook/postgres';
import { accountStoreConformance, storeConformance } from 'intentbook/testing';
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

describe('book', () => {
  const plugin = (book: never) => fastifyPlugin({} as never, { book }, () => {});

  test.each([
    ['createApi', createApi],
    ['nodeHandler', nodeHandler],
    ['expressRouter', expressRouter],
    ['fetchHandler', fetchHandler],
    ['fastifyPlugin', plugin],
  ])('is required by %s', (_, create) => {
    const message = 'createApi: book must be an order book, got ';
    expect(calling(create)).toThrow(new TypeError(`${message}undefined`));
    expect(calling(create, '/sepolia')).toThrow(new TypeError(`${message}"/sepolia"`));
    const book = createOrderBook({ chainId: 1, store: memoryStore() });
    expect(calling(create, Promise.resolve(book))).toThrow(new TypeError(`${message}an object`));
  });
});

describe('harness of a store', () => {
  test.each([[storeConformance], [accountStoreConformance]])('is required by %o', (create) => {
    const message = `${create.name}: the harness must have the traits of the store and a function create`;
    for (const harness of [undefined, {}, { create: memoryStore }, { traits: memoryStore().traits }]) {
      expect(calling(create, harness)).toThrow(new TypeError(message));
    }
  });
});
