import { postgresAccountStore } from 'intentbook/postgres';
import { afterAll } from 'vitest';
import { temporarySchema } from '../../support/postgres.ts';
import { describeAccountConformance } from './conformance.ts';
import { emptyAccountSchema } from './postgres-account-schema.ts';

const place = await temporarySchema();
afterAll(async () => await place[Symbol.asyncDispose]());

describeAccountConformance('the PostgreSQL account store keeps the contract', {
  traits: postgresAccountStore({ url: 'postgres://localhost' }).traits,
  async create() {
    const { url, schema } = place;
    return {
      connect: () => postgresAccountStore({ url, schema, migrate: true, connections: 3, pollInterval: 50 }),
      dispose: () => emptyAccountSchema(place),
    };
  },
});
