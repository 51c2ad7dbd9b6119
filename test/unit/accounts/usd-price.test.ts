import assert from 'node:assert/strict';
import type { UsdPriceSource } from 'intentbook';
import { fixedUsdPrices } from 'intentbook/prices';
import { describe, test } from 'vitest';
import { SEPOLIA, WETH } from '../../support/orders.ts';
import { accountFixture } from './account-api-fixture.ts';

const path = (token: string, chain: string | number = SEPOLIA) => `/${chain}/tokens/${token}/usdPrice`;

describe('GET /{chain_id}/tokens/{token_address}/usdPrice', () => {
  test('returns a number of dollars, cacheable for the lifetime of the price', async () => {
    const sources = [fixedUsdPrices({ [SEPOLIA]: { [WETH]: 3462.85 }, 1: { [WETH]: 1e-9 } })];
    const { send, clock } = await accountFixture({ usdPrices: { sources, cacheTtl: 60_000 } });
    const answer = await send('GET', path(WETH));
    assert.deepEqual([answer.status, answer.text], [200, '{"price":3462.85}']);
    assert.equal(answer.header('cache-control'), 'public, max-age=60');
    clock.advance(20_500);
    assert.equal((await send('GET', path(WETH.toLowerCase()))).header('cache-control'), 'public, max-age=39');
    clock.advance(39_000);
    // A lifetime below a second is not cacheable.
    assert.equal((await send('GET', path(WETH))).header('cache-control'), 'no-store');
    // A chain does not need a book if a source supports it.
    assert.deepEqual((await send('GET', path(WETH, 1))).json(), { price: 1e-9 });
  });

  test('uses the next source after a failure, and returns an uncached 503 without a price', async () => {
    const failing: UsdPriceSource = { name: 'failing', usdPrice: () => Promise.reject(new Error('out of order')) };
    const known = fixedUsdPrices({ [SEPOLIA]: { [WETH]: 3000 } });
    const { send, failures } = await accountFixture({ usdPrices: { sources: [failing, known] } });
    assert.deepEqual((await send('GET', path(WETH))).json(), { price: 3000 });
    const answer = await send('GET', path(`0x${'ab'.repeat(20)}`));
    assert.deepEqual([answer.status, answer.json()], [503, { message: 'The sources of this data have failed' }]);
    assert.equal(answer.header('cache-control'), 'no-store');
    assert.equal(failures.length, 2);
    const { send: sendToKnown } = await accountFixture({ usdPrices: { sources: [known] } });
    assert.equal((await sendToKnown('GET', path(`0x${'ab'.repeat(20)}`))).status, 404);
  });

  test('returns 404 without sources', async () => {
    const { send } = await accountFixture();
    assert.equal((await send('GET', path(WETH))).status, 404);
  });

  test('accepts names of chains, and "-" for native currency', async () => {
    const native = '0xeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee';
    const { send } = await accountFixture({
      usdPrices: { sources: [fixedUsdPrices({ [SEPOLIA]: { [WETH]: 5, [native]: 6 }, 100: { [native]: 7 } })] },
    });
    const read = async (target: string) => (await send('GET', target)).json();
    assert.deepEqual(await read(path(WETH, 'sepolia')), { price: 5 });
    assert.deepEqual(await read(path('-')), { price: 6 });
    for (const name of ['xdai', 'gnosis']) assert.deepEqual(await read(path('-', name)), { price: 7 });
    const unknown = await send('GET', path('-', 'goerli'));
    assert.deepEqual([unknown.status, unknown.json()], [404, { message: 'Price not found' }]);
  });

  test.each([
    [path('0x12'), 'token: must be 0x and 40 hex digits, got "0x12"'],
    [path('weth'), 'token: must be 0x and 40 hex digits, got "weth"'],
    [path(WETH, '0'), 'chainId: must be a whole number'],
    [path(WETH, '9'.repeat(30)), 'chainId: must be a whole number'],
    [path(WETH, 'AB'), 'chainId: must be a whole number'],
  ])('rejects %s with 400', async (target, message) => {
    const answer = await (await accountFixture()).send('GET', target);
    assert.deepEqual([answer.status, answer.json()], [400, { message }]);
  });
});
