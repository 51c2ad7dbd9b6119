import type { SchemaName } from './schemas.ts';

const WETH = '0xfff9976782d46cc05630d1f6ebab18b2324d6b14';
const COW = '0x0625afb445c3b6b7b929342a04a22599fd5dbb59';
const OWNER = '0x00000000000000000000000000000000000a11ce';

/** Request bodies that a reader can send as they are, by schema. */
export const EXAMPLES: Readonly<Partial<Record<SchemaName, unknown>>> = {
  OrderCreation: {
    sellToken: WETH,
    buyToken: COW,
    receiver: null,
    sellAmount: '1000000000000000000',
    buyAmount: '9000000000000000000000',
    validTo: 1893456000,
    appData: '{}',
    feeAmount: '0',
    kind: 'sell',
    partiallyFillable: false,
    signingScheme: 'presign',
    signature: '0x',
    from: OWNER,
  },
  QuoteRequest: {
    sellToken: WETH,
    buyToken: COW,
    from: OWNER,
    kind: 'sell',
    sellAmountBeforeFee: '1000000000000000000',
  },
  UIDs: [`0x${'ab'.repeat(32)}${OWNER.slice(2)}70dbd880`],
  AppDataDocument: { fullAppData: '{"appCode":"example","metadata":{}}' },
};
