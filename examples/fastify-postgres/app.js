import { realpathSync } from 'node:fs';
import fastify from 'fastify';
import { createOrderBook } from 'intentbook';
import { fastifyPlugin } from 'intentbook/fastify';
import { postgresStore } from 'intentbook/postgres';
import pg from 'pg';

/**
 * Creates a service: orders of the protocol at `/sepolia`, and `POST /invoices`, which stores an order and a row of the
 * application in one transaction. Requests need `Authorization: Bearer <key>`.
 */
export async function createService({ databaseUrl, schema = 'orders', keys }) {
  const pool = new pg.Pool({ connectionString: databaseUrl });
  await pool.query('CREATE TABLE IF NOT EXISTS invoices (id text PRIMARY KEY, customer text, order_uid text NOT NULL)');
  const book = createOrderBook({ chainId: 11155111, store: postgresStore(pool, { schema, migrate: true }) });
  await book.start();

  const app = fastify();
  app.decorateRequest('customer', '');
  app.addHook('preHandler', async (request, reply) => {
    const key = /^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1];
    // An object has inherited members, such as "constructor".
    if (key === undefined || !Object.hasOwn(keys, key)) {
      return reply.code(401).send({ error: 'an API key is required' });
    }
    request.customer = keys[key];
  });
  app.register(fastifyPlugin, { prefix: '/sepolia', book });

  app.post('/invoices', async ({ body, customer }, reply) => {
    const client = await pool.connect();
    try {
      await client.query('BEGIN');
      const result = await book.orders.submit(body.order, { transaction: client });
      if (result.status !== 'accepted') {
        await client.query('ROLLBACK');
        return reply.code(400).send({ code: result.error.code, message: result.error.message });
      }
      await client.query('INSERT INTO invoices VALUES ($1, $2, $3)', [body.invoice, customer, result.uid]);
      await client.query('COMMIT');
      return { uid: result.uid };
    } catch (error) {
      await client.query('ROLLBACK').catch(() => {}); // the connection may be broken
      throw error;
    } finally {
      client.release();
    }
  });

  app.addHook('onClose', async () => {
    await book.close();
    await pool.end();
  });
  return { app, book, pool };
}

if (import.meta.filename === realpathSync(process.argv[1] ?? '')) {
  const { app } = await createService({ databaseUrl: process.env.DATABASE_URL, keys: { secret: 'first customer' } });
  await app.listen({ port: 8080 });
}
