import * as z from 'zod/mini';
import { BUY_TOKEN_DESTINATIONS, ORDER_KINDS, SELL_TOKEN_SOURCES } from '../protocol/order.ts';
import { PRICE_QUALITIES } from '../protocol/quote-request.ts';
import { amountText, epochSeconds, hexSchema, numberError, uint32 } from '../protocol/shape.ts';
import { SIGNING_SCHEMES } from '../protocol/signature.ts';

const uint = () => uint32('must be an integer from 0 to 4294967295');

const GAS_LIMIT = numberError(`must be an integer from 0 to ${Number.MAX_SAFE_INTEGER}`);

const gasLimit = () => z.int(GAS_LIMIT).check(z.minimum(0, GAS_LIMIT));

const common = {
  sellToken: hexSchema(20),
  buyToken: hexSchema(20),
  from: hexSchema(20),
  receiver: z.nullish(hexSchema(20)),
  validTo: z.nullish(epochSeconds()),
  validFor: z.nullish(uint()),
  appData: z.nullish(z.string()),
  appDataHash: z.nullish(hexSchema(32)),
  sellTokenBalance: z._default(z.enum(SELL_TOKEN_SOURCES), 'erc20'),
  buyTokenBalance: z._default(z.enum(BUY_TOKEN_DESTINATIONS), 'erc20'),
  signingScheme: z._default(z.enum(SIGNING_SCHEMES), 'eip712'),
  onchainOrder: z._default(z.boolean(), false),
  verificationGasLimit: z.nullish(gasLimit()),
  priceQuality: z._default(z.enum(PRICE_QUALITIES), 'optimal'),
  timeout: z.nullish(uint()),
};

export const anyKind = /* @__PURE__ */ z.object({ kind: z.enum(ORDER_KINDS) });

export const sale = /* @__PURE__ */ z.object({
  ...common,
  kind: z.literal('sell'),
  sellAmountBeforeFee: z.nullish(amountText()),
  sellAmountAfterFee: z.nullish(amountText()),
});

export const purchase = /* @__PURE__ */ z.object({
  ...common,
  kind: z.literal('buy'),
  buyAmountAfterFee: z.nullish(amountText()),
});
