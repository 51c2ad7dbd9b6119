import { appDataHash, type OrderToSign, orderTypedData, orderUid, signingDomain } from 'intentbook/sign';
import { account } from '../orders.ts';

/**
 * Responses of the production system in their shape: members, their order, null values, precision of dates.
 *
 * Provenance: public responses of staging on mainnet and of production on sepolia, recorded between May and July 2026
 * in cowprotocol/cowswap, `apps/cowswap-e2e-tests/src/mocks/cowProtocolApi/fixtures` (commits 18fab35, 19c738d,
 * 77f7060, 73f3218, ef64119). Only facts are taken: every account, amount, hash and signature here was made for these
 * tests, with their own keys.
 */
const STAGING = '0xf553d092b50bdcbdded1a99af2ca29fbe5e2cb13';
const STAGING_ETHFLOW = '0xb37add6ac288bd3825a901cba6ec65a89f31b8cc';
const DOMAIN = signingDomain({ chainId: 1, settlementContract: STAGING });
const TRAMPOLINE = '0x60bf78233f48ec42ee3f101b9a05ec7878728006';

const USD: `0x${string}` = `0x${'a1'.repeat(20)}`;
const EUR: `0x${string}` = `0x${'b2'.repeat(20)}`;
const WRAPPED: `0x${string}` = `0x${'c3'.repeat(20)}`;
const SOLVER = `0x${'d4'.repeat(20)}`;

const OWNER = account(501);

const createDocument = (orderClass: string, metadata: object = {}) =>
  JSON.stringify({
    appCode: 'Example',
    environment: 'test',
    metadata: { ...metadata, orderClass: { orderClass }, quote: { slippageBips: 50 } },
    version: '1.14.0',
  });

interface Choice {
  readonly order: Omit<OrderToSign, 'appData'>;
  readonly document: string;
  readonly creationDate: string;
  readonly status: string;
  readonly executed?: { readonly sell: string; readonly buy: string; readonly fee: string };
  readonly members?: object;
  readonly pre?: readonly object[];
}

/** Renders an order with the members of production, in their order. */
async function renderOrder({ order, document, creationDate, status, executed, members, pre = [] }: Choice) {
  const isEthflow = members !== undefined;
  const typed = orderTypedData(DOMAIN, { ...order, appData: document });
  const owner = isEthflow ? STAGING_ETHFLOW : OWNER.address.toLowerCase();
  return {
    creationDate,
    owner,
    uid: orderUid(typed, owner),
    availableBalance: null,
    executedBuyAmount: executed?.buy ?? '0',
    executedSellAmount: executed?.sell ?? '0',
    executedSellAmountBeforeFees: executed?.sell ?? '0',
    executedFeeAmount: '0',
    executedFee: executed?.fee ?? '0',
    executedFeeToken: order.sellToken,
    invalidated: false,
    status,
    class: 'limit',
    settlementContract: STAGING,
    ...members,
    isLiquidityOrder: false,
    fullAppData: document,
    sellToken: order.sellToken,
    buyToken: order.buyToken,
    receiver: order.receiver,
    sellAmount: order.sellAmount,
    buyAmount: order.buyAmount,
    validTo: order.validTo,
    appData: appDataHash(document),
    feeAmount: '0',
    kind: order.kind,
    partiallyFillable: false,
    sellTokenBalance: 'erc20',
    buyTokenBalance: 'erc20',
    signingScheme: isEthflow ? 'eip1271' : 'eip712',
    signature: isEthflow ? owner : await OWNER.signTypedData(typed as never),
    interactions: { pre, post: [] },
  };
}

/** Creates the responses of each endpoint. */
export async function createPublicShapes() {
  const receiver = OWNER.address.toLowerCase() as `0x${string}`;
  const common = { receiver, kind: 'sell', partiallyFillable: false } as const;
  const open = await renderOrder({
    order: {
      ...common,
      sellToken: USD,
      buyToken: EUR,
      sellAmount: '3500000',
      buyAmount: '17000000',
      validTo: 1811000000,
    },
    document: createDocument('limit'),
    creationDate: '2026-05-11T08:09:10.123456Z',
    status: 'open',
  });
  const ethflow = await renderOrder({
    order: {
      ...common,
      sellToken: WRAPPED,
      buyToken: EUR,
      sellAmount: '2000000000000000',
      buyAmount: '3600000',
      validTo: 0xffffffff,
    },
    document: createDocument('market'),
    creationDate: '2026-05-10T10:11:12Z',
    status: 'fulfilled',
    executed: { sell: '2000000000000000', buy: '3871000', fee: '81000000000000' },
    members: {
      ethflowData: { userValidTo: 1779000600, refundTxHash: null, isRefunded: false },
      onchainOrderData: { sender: receiver, placementError: null },
      onchainUser: receiver,
    },
    pre: [{ target: STAGING_ETHFLOW, value: '0', callData: '0x4c84c1c8' }],
  });
  const hook = { target: USD, callData: '0xd505accf', gasLimit: '80000' };
  const hooked = await renderOrder({
    order: {
      ...common,
      sellToken: WRAPPED,
      buyToken: USD,
      sellAmount: '18639632980706689867',
      buyAmount: '3100000',
      validTo: 1779001800,
    },
    document: createDocument('market', { hooks: { pre: [hook] } }),
    creationDate: '2026-05-10T09:08:07.034892Z',
    status: 'fulfilled',
    // Settled, and its fee was not attributed.
    executed: { sell: '18639632980706689867', buy: '3842001', fee: '0' },
    pre: [{ target: TRAMPOLINE, value: '0', callData: '0x760f2a0b' }],
  });
  const quote = {
    gasAmount: '355000',
    gasPrice: '1470000001',
    sellTokenPrice: '501000000.05327892303466796875',
    sellAmount: '3500000',
    buyAmount: '3500077',
    feeAmount: '1042000',
    solver: SOLVER,
    verified: true,
    metadata: null,
  };
  const improvement = {
    policy: {
      priceImprovement: {
        factor: 0.5,
        maxVolumeFactor: 0.0098,
        quote: { sellAmount: '2000000000000000', buyAmount: '4258000', fee: '86860608167233' },
      },
    },
    amount: '0',
    token: EUR,
  };
  const volume = { policy: { volume: { factor: 0.0002 } }, amount: '774', token: EUR };
  const toTrade = (order: typeof open, blockNumber: number, logIndex: number, txHash: string | null) => ({
    blockNumber,
    logIndex,
    orderUid: order.uid,
    buyAmount: order.executedBuyAmount,
    sellAmount: order.executedSellAmount,
    sellAmountBeforeFees: order.executedSellAmountBeforeFees,
    owner: order.owner,
    buyToken: order.buyToken,
    sellToken: order.sellToken,
    txHash,
    executedProtocolFees: [improvement, volume],
  });
  return {
    /** `GET /api/v1/orders/{uid}`, and the `order` of an element of `by_uids`. */
    order: { ...open, quote },
    /** `GET /api/v1/account/{owner}/orders`. */
    accountOrders: [open, ethflow, hooked],
    /** `GET /api/v2/trades`. The newest trade has no transaction yet. */
    trades: [toTrade(ethflow, 25100200, 194, null), toTrade(hooked, 25100100, 186, `0x${'e5'.repeat(32)}`)],
    /** `POST /api/v1/quote`. */
    quote: {
      quote: {
        sellToken: WRAPPED,
        buyToken: USD,
        receiver: OWNER.address,
        sellAmount: '499700000000000948',
        buyAmount: '273000000884534691538',
        validTo: 1785400000,
        appData: createDocument('limit'),
        appDataHash: appDataHash(createDocument('limit')),
        feeAmount: '271000000899052',
        gasAmount: '222000',
        gasPrice: '1222000084',
        sellTokenPrice: '1',
        kind: 'sell',
        partiallyFillable: false,
        sellTokenBalance: 'erc20',
        buyTokenBalance: 'erc20',
        signingScheme: 'eip712',
      },
      from: OWNER.address,
      expiration: '2026-07-30T14:07:53.488762137Z',
      id: 620001,
      verified: true,
      protocolFeeBps: '0.3',
    },
    /** `GET /api/v1/token/{token}/native_price`. */
    nativePrice: { price: 1 },
  };
}
