import * as z from 'zod/mini';
import { UID_SIZE } from '../protocol/hex.ts';
import { hex, hexSchema } from '../protocol/shape.ts';
import { ECDSA_SCHEMES } from '../protocol/signature.ts';

const signatureFields = { signature: hex(), signingScheme: z.enum(ECDSA_SCHEMES) };

export const cancellations = /* @__PURE__ */ z.object({
  orderUids: z.array(hexSchema(UID_SIZE)).check(z.minLength(1, { error: 'must name an order' })),
  ...signatureFields,
});

export const cancellation = /* @__PURE__ */ z.object({ orderUid: hexSchema(UID_SIZE), ...signatureFields });
