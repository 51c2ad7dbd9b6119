import type { Affiliate, AffiliateStore } from 'intentbook';
import { toBytes } from '../rows.ts';
import type { PostgresSession } from '../session.ts';
import type { AcquireLock } from './serial-lock.ts';

export function createAffiliateTable(
  { schema: s, prepare, prepareObjects, read, write }: PostgresSession,
  acquireLock: AcquireLock,
): AffiliateStore {
  const findConflicts = prepare<readonly [bound: boolean, used: boolean, taken: boolean]>(
    `SELECT EXISTS (SELECT FROM ${s}.affiliates WHERE wallet = $1), ` +
      `EXISTS (SELECT FROM ${s}.used_signatures WHERE hash IN (sha256($3::bytea), sha256($4::bytea))), ` +
      `EXISTS (SELECT FROM ${s}.affiliates WHERE code = $2)`,
  );
  const insert = prepare(`INSERT INTO ${s}.affiliates (wallet, code, created) VALUES ($1, $2, $3)`);
  const insertSignatures = prepare(
    `INSERT INTO ${s}.used_signatures (hash) VALUES (sha256($1::bytea)), (sha256($2::bytea)) ON CONFLICT DO NOTHING`,
  );
  const columns = `SELECT wallet AS "walletAddress", code, created AS "createdAt" FROM ${s}.affiliates`;
  const byWallet = prepareObjects<Affiliate>(`${columns} WHERE wallet = $1`);
  const byCode = prepareObjects<Affiliate>(`${columns} WHERE code = $1`);

  return {
    register: ({ walletAddress, code, createdAt, digest, signedMessage }) =>
      write('register an affiliate', async (run) => {
        await acquireLock(run, 'affiliates');
        const [wallet, signed] = [toBytes(walletAddress), [toBytes(digest), toBytes(signedMessage)]];
        const [conflicts] = await run(findConflicts, wallet, code, ...signed);
        const [bound, used, taken] = conflicts ?? [];
        if (bound) return { status: 'bound' };
        if (used) return { status: 'used' };
        if (taken) return { status: 'taken' };
        await run(insert, wallet, code, createdAt);
        await run(insertSignatures, ...signed);
        return { status: 'registered' };
      }),
    byWallet: (wallet) => read('read an affiliate', async (run) => (await run(byWallet, toBytes(wallet)))[0]),
    byCode: (code) => read('read an affiliate', async (run) => (await run(byCode, code))[0]),
  };
}
