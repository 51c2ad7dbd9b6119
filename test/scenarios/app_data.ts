import assert from 'node:assert/strict';
import { keccak256, toHex } from 'viem';
import { signOrder } from '../support/orders.ts';
import type { Scenario } from './support/scenario.ts';

const documentOf = (code: string, metadata: object = {}) =>
  JSON.stringify({ version: '1.3.0', appCode: code, metadata });
const hashOf = (document: string) => keccak256(toHex(document));

/** Decodes the content identifier of a URL, which starts with the letter of its base. @returns hex. */
function decodeBase32(identifier: string): string {
  const digits = 'abcdefghijklmnopqrstuvwxyz234567';
  const bits = [...identifier.slice(1)].map((letter) => digits.indexOf(letter).toString(2).padStart(5, '0')).join('');
  return (bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2).toString(16).padStart(2, '0')).join('');
}

/**
 * Assertions of the original:
 * - an order with the hash of an unknown document is rejected, and reading the document is 404: held
 * - a document that comes with an order is stored under its hash, and served with the order: held
 * - a document and another hash are rejected: held
 * - after that, a quote and an order by the hash alone are accepted, and the order has the document: held
 * - a malformed document is rejected, with an order and as an upload: held
 * - an upload without a hash returns the hash with 201, and repeated uploads 200: held
 * - a document with every key of the protocol, and the zero hash, are accepted and returned without a change: held
 */
export const scenario: Scenario = {
  shows: 'documents are stored with orders and by upload, found by hash and on IPFS, and limited in size',
  isFast: true,
  async run(world) {
    const onIpfs = documentOf('on ipfs');
    const gateway = await world.listen(async (request) => {
      // The identifier of a raw block ends with its keccak digest.
      const isKnown = decodeBase32(request.url.split('/').at(-1) ?? '').endsWith(hashOf(onIpfs).slice(2));
      return new Response(isKnown ? onIpfs : null, { status: isKnown ? 200 : 404 });
    });
    const book = await world.serve('--ipfs-gateway', gateway);
    const trader = await world.createTrader({ WETH: '10' });
    const terms = { sellToken: world.token('WETH'), buyToken: world.token('USDC'), sellAmount: '1000', buyAmount: '1' };

    // An order by the hash of an unknown document.
    const later = documentOf('uploaded later');
    await book.rejects(book.get(`/app_data/${hashOf(later)}`), 404, 'NotFound');
    const byHash = { ...terms, appData: hashOf(later), appDataIsHash: true };
    await book.rejects(book.submit(trader, byHash), 400, 'InvalidAppData');

    // After the upload. A repeated upload is no creation.
    assert.equal((await book.put(`/app_data/${hashOf(later)}`, { fullAppData: later })).status, 201);
    assert.equal((await book.put(`/app_data/${hashOf(later)}`, { fullAppData: later })).status, 200);
    const unnamed = documentOf('without hash');
    const uploaded = await book.put('/app_data', { fullAppData: unnamed });
    assert.deepEqual([uploaded.status, uploaded.body], [201, hashOf(unnamed)]);
    const request = { ...terms, from: trader.address, kind: 'sell', sellAmountAfterFee: String(10n ** 18n) };
    assert.equal((await book.post('/quote', { ...request, appData: hashOf(later) })).status, 200);
    const uid = await book.place(trader, byHash);
    assert.deepEqual((await book.get(`/orders/${uid}`)).body.fullAppData, later);

    // A document that comes with an order.
    const zeroHash = await book.place(trader, { ...terms, appData: `0x${'00'.repeat(32)}`, appDataIsHash: true });
    const hook = { target: trader.address, callData: '0x12345678', gasLimit: '21000' };
    const addressOf = (byte: string) => `0x${byte.repeat(20)}`;
    const full = documentOf('full', {
      quote: { slippageBps: '50' },
      hooks: { pre: [hook], post: [hook] },
      flashloan: {
        liquidityProvider: addressOf('11'),
        receiver: addressOf('22'),
        token: addressOf('33'),
        protocolAdapter: addressOf('44'),
        amount: '1234',
      },
      signer: trader.address,
      replacedOrder: { uid: zeroHash },
      referrer: { address: trader.address },
      partnerFee: { bps: 1, recipient: trader.address },
      utm: { utmSource: 'scenario' },
    });
    const complete = await book.place(trader, { ...terms, sellAmount: '1001', appData: full });
    assert.equal((await book.get(`/orders/${complete}`)).body.fullAppData, full);
    assert.equal((await book.get(`/app_data/${hashOf(full)}`)).body.fullAppData, full);

    // A document that only the gateway has.
    const fetched = await book.place(trader, {
      ...terms,
      sellAmount: '1002',
      appData: hashOf(onIpfs),
      appDataIsHash: true,
    });
    assert.equal((await book.get(`/orders/${fetched}`)).body.fullAppData, onIpfs);

    // 8192 bytes are the limit of the profile.
    const sized = (bytes: number) => documentOf('x'.repeat(bytes - documentOf('').length));
    await book.place(trader, { ...terms, sellAmount: '1003', appData: sized(8192) });
    await book.rejects(book.submit(trader, { ...terms, appData: sized(8193) }), 400, 'InvalidAppData');
    for (const malformed of ['{"version":', '{"metadata":"invalid"}']) {
      await book.rejects(book.submit(trader, { ...terms, appData: malformed }), 400, 'InvalidAppData');
      const upload = book.put(`/app_data/${hashOf(malformed)}`, { fullAppData: malformed });
      await book.rejects(upload, 400, 'AppDataInvalid');
    }

    // A document that has another hash.
    const validTo = Math.floor(Date.now() / 1000) + 3600;
    const other = await signOrder(trader, { ...terms, appData: '{"hello":"world"}', validTo });
    const contradicted = book.post('/orders', { ...other, appDataHash: hashOf('{}') });
    await book.rejects(contradicted, 400, 'AppDataHashMismatch');
    const wrong = await book.put(`/app_data/${hashOf('{}')}`, { fullAppData: documentOf('other') });
    assert.equal(wrong.status, 400);
  },
};
