import type { Hex, OrderInsert, Store } from 'intentbook';
import { systemClock } from 'intentbook';
import { checkOrders } from './checks.ts';
import { createModelOrder, getCreationDate, getOwner, getToken, getUid, VALID_TO } from './files.ts';
import { DOMAIN, hashText } from './orders.ts';
import type { BenchServer } from './postgres.ts';
import { createBenchStore } from './postgres.ts';

/** Returns SQL for the common columns of the orders in both schemas. The order of their UIDs is random. */
export const selectOrders = (count: number) => `
  SELECT n,
    sha256(convert_to('order ' || n, 'UTF8'))
      || substr(sha256(convert_to('owner ' || (n::bigint * 7919) % 10000, 'UTF8')), 1, 20)
      || '\\x${VALID_TO.toString(16)}'::bytea AS uid,
    substr(sha256(convert_to('owner ' || (n::bigint * 7919) % 10000, 'UTF8')), 1, 20) AS owner,
    substr(sha256(convert_to('token ' || n % 20, 'UTF8')), 1, 20) AS sell_token
  FROM generate_series(0, ${count - 1}) n`;

/** Fills the tables of the store with SQL, because a million inserts by the store would take too long. */
export async function fillStore(server: BenchServer, schema: string, count: number): Promise<Store> {
  const { order, document } = await createModelOrder();
  const store = createBenchStore(server, schema);
  await store.open({ domain: DOMAIN, clock: systemClock });
  await store.appData.put(document ?? { hash: order.appData, document: '{}' });
  const { client } = server;
  const from = selectOrders(count);
  const hex = (column: string) => `'0x' || encode(${column}, 'hex')`;
  await client.query(`SET synchronous_commit = off; SET max_parallel_workers_per_gather = 0; SET work_mem = '256MB'`);
  const inserted = await client.query(
    `INSERT INTO ${schema}.orders (created, valid_to, version, signing_scheme, phase, quota_class, key, owner,
       sell_token, buy_token, app_data, executed_sell_amount, executed_buy_amount, executed_fee, quote, body, checksum)
     SELECT ${getCreationDate(0)} + n * 20, ${VALID_TO}, 1 + n % 2, 0, CASE n % 2 WHEN 1 THEN 5 ELSE 0 END, 0,
       ${KEY}, owner, sell_token, decode($1, 'hex'), decode($2, 'hex'), CASE n % 2 WHEN 1 THEN ${SOLD} ELSE 0 END,
       CASE n % 2 WHEN 1 THEN ${BOUGHT} ELSE 0 END, CASE n % 2 WHEN 1 THEN 12345678901 ELSE 0 END, $8, body,
       ((crc32(convert_to(body, 'UTF8')) + 2147483648) % 4294967296 - 2147483648)::integer
     FROM (${from}) o CROSS JOIN LATERAL (
       SELECT replace(replace(replace(replace($3, $4, ${hex('uid')}), $5, ${hex('sell_token')}), $6, ${hex('owner')}),
         $7, '${VALID_TO}') AS body OFFSET 0
     ) b`,
    [
      removePrefix(order.buyToken),
      removePrefix(order.appData),
      order.body,
      order.uid,
      order.sellToken,
      order.owner,
      String(order.validTo),
      `${QUOTE}\x1e${METADATA}`,
    ],
  );
  if (inserted.rowCount !== count) throw new Error(`${inserted.rowCount} of ${count} orders were inserted`);
  await client.query(
    `INSERT INTO ${schema}.chain_events (block, log, type, "timestamp", block_hash, transaction_hash, key, owner,
       detail)
     SELECT n, 0, 0, 1700000000, sha256(n::text::bytea), sha256(n::text::bytea), ${KEY}, owner, $1
     FROM (${from}) o WHERE n % 2 = 1`,
    [
      `{"sellToken":"${order.sellToken}","buyToken":"${order.buyToken}","sellAmount":"${SOLD}",` +
        `"buyAmount":"${BOUGHT}","feeAmount":"0","executedFee":"12345678901","prices":null,"protocolFees":[]}`,
    ],
  );
  await client.query(`VACUUM ANALYZE ${schema}.orders, ${schema}.documents, ${schema}.chain_events`);
  checkOrders(await store.orders.get([getUid(0)]), [getUid(0)]);
  await store.close();
  return store;
}

/** Returns a function that creates orders of random owners, created now and valid for 20 minutes. */
export async function createOrderFactory(name: string): Promise<() => OrderInsert> {
  const { order: model } = await createModelOrder();
  let created = 0;
  return () => {
    const n = created++;
    const creationDate = Date.now();
    const validTo = Math.floor(creationDate / 1000) + 1200;
    const owner = getOwner(Math.imul(n, 2_654_435_761) >>> 0);
    const uid: Hex = `0x${hashText(`${name} ${n}`).toString('hex')}${owner.slice(2)}${validTo.toString(16)}`;
    const body = model.body.replace(model.uid, uid).replace(model.owner, owner);
    return { quota: 100_000, order: { ...model, uid, owner, creationDate, validTo, sellToken: getToken(n), body } };
  };
}

/** SQL for the key of an order: its UID with `validTo` first. */
const KEY = 'substr(uid, 53) || substr(uid, 1, 52)';
const removePrefix = (hex: Hex) => hex.slice(2);
export const SOLD = '1000000000000000000';
export const BOUGHT = '3456789012345678901234';
export const METADATA = '{"version":"1.0","interactions":[],"preInteractions":[],"jitOrders":[]}';
const QUOTE =
  '{"gasAmount":"150000","gasPrice":"1234567890","sellTokenPrice":"1","sellAmount":"1000000000000000000",' +
  '"buyAmount":"3456789012345678901234","feeAmount":"185185183500000",' +
  '"solver":"0x1111111111111111111111111111111111111111","verified":true}';
