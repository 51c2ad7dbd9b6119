import * as z from 'zod';
import { ACCOUNT_SCHEMAS } from './account-schemas.ts';
import { AUCTION_SCHEMAS } from './auction-schemas.ts';
import { OPERATOR_SCHEMAS } from './operator-schemas.ts';
import { ORDER_SCHEMAS } from './order-schemas.ts';
import { tokenAtoms } from './primitives.ts';
import { TOKEN_SCHEMAS } from './token-schemas.ts';

/** The data of the interface, by the names of the contract ("Resources and their fields"). */
const SCHEMAS = {
  ...ORDER_SCHEMAS,
  ...AUCTION_SCHEMAS,
  ...OPERATOR_SCHEMAS,
  ...ACCOUNT_SCHEMAS,
  ...TOKEN_SCHEMAS,
  NativePrice: z.object({ price: z.number().describe('Wei for one atom of the token.') }),
  TokenMetadata: z.object({
    firstTradeBlock: z.int().nullable(),
    nativePrice: tokenAtoms('For 10^18 atoms.').nullable(),
  }),
  Readiness: z.object({ ready: z.boolean(), checks: z.record(z.string(), z.string()) }),
  Liveness: z.object({ live: z.boolean() }),
  Overview: z.looseObject({ name: z.string(), version: z.string() }),
  Error: z.looseObject({
    errorType: z.string().describe('The code. Each response of a route lists its codes.'),
    description: z.string().describe('A message for developers.'),
    data: z.record(z.string(), z.unknown()).describe('Details that help to correct the request.').optional(),
  }),
  Message: z.object({ message: z.string() }),
};

export type SchemaName = keyof typeof SCHEMAS;

/** A schema by its name, as a document refers to it. */
export const ref = (name: SchemaName) => ({ $ref: `#/components/schemas/${name}` });

export function componentSchemas(): Readonly<Record<string, object>> {
  const registry = z.registry<{ id: string }>();
  for (const [id, schema] of Object.entries(SCHEMAS)) registry.add(schema, { id });
  const { schemas } = z.toJSONSchema(registry, {
    io: 'input',
    unrepresentable: 'any',
    uri: (id) => `#/components/schemas/${id}`,
  });
  return Object.fromEntries(Object.entries(schemas).map(([id, { $schema: _, $id: __, ...schema }]) => [id, schema]));
}
