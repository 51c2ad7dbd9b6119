import type { Affiliate } from 'intentbook';
import { toBytes, toHexText } from '../rows.ts';
import type { AccountOperations, SqliteSession } from '../session.ts';

/** Creates the operations on affiliate codes. They are synchronous: a call has taken effect when it returns. */
export function createAffiliateTable(session: SqliteSession): AccountOperations['affiliates'] {
  const { prefix: p, prepare, read, write } = session;
  const select = `SELECT ${toHexText('wallet')} AS walletAddress, code, created_at AS createdAt FROM ${p}affiliates`;
  const byWallet = prepare(`${select} WHERE wallet = ?`);
  const byCode = prepare(`${select} WHERE code = ?`);
  const insert = prepare(`INSERT INTO ${p}affiliates (wallet, code, created_at) VALUES (?, ?, ?)`);
  const isUsed = prepare(`SELECT 1 FROM ${p}used_signatures WHERE proof = ?`).pluck();
  const markUsed = prepare(`INSERT OR IGNORE INTO ${p}used_signatures (proof) VALUES (?)`);

  return {
    register: ({ walletAddress, code, createdAt, digest, signedMessage }) =>
      write('register an affiliate', () => {
        const wallet = toBytes(walletAddress);
        const proofs = [toBytes(digest), toBytes(signedMessage)];
        if (byWallet.get(wallet) !== undefined) return { status: 'bound' };
        if (proofs.some((proof) => isUsed.get(proof) !== undefined)) return { status: 'used' };
        if (byCode.get(code) !== undefined) return { status: 'taken' };
        insert.run(wallet, code, createdAt);
        for (const proof of proofs) markUsed.run(proof);
        return { status: 'registered' };
      }),
    // The columns selected.
    byWallet: (wallet) => read('read an affiliate', () => byWallet.get(toBytes(wallet)) as Affiliate | undefined),
    byCode: (code) => read('read an affiliate', () => byCode.get(code) as Affiliate | undefined),
  };
}
