import type { Address, Affiliate, NewAffiliate, RegisterOutcome } from 'intentbook';
import { bufferToHex, toBytes } from '../rows.ts';
import type { SqliteSession } from '../session.ts';

/** Creates the operations on affiliate codes. They are synchronous: a call has taken effect when it returns. */
export function createAffiliateTable({ prefix: p, prepare, read, write }: SqliteSession) {
  const select = `SELECT wallet, code, created_at FROM ${p}affiliates`;
  const byWallet = prepare(`${select} WHERE wallet = ?`).raw();
  const byCode = prepare(`${select} WHERE code = ?`).raw();
  const insert = prepare(`INSERT INTO ${p}affiliates (wallet, code, created_at) VALUES (?, ?, ?)`);
  const isUsed = prepare(`SELECT 1 FROM ${p}used_signatures WHERE proof = ?`).pluck();
  const markUsed = prepare(`INSERT OR IGNORE INTO ${p}used_signatures (proof) VALUES (?)`);

  function readAffiliate(row: unknown): Affiliate | undefined {
    if (row === undefined) return undefined;
    const [wallet, code, createdAt] = row as [Buffer, string, number]; // the columns selected
    return { walletAddress: bufferToHex(wallet), code, createdAt };
  }

  return {
    register: ({ walletAddress, code, createdAt, digest, signedMessage }: NewAffiliate) =>
      write('register an affiliate', (): RegisterOutcome => {
        const wallet = toBytes(walletAddress);
        const proofs = [toBytes(digest), toBytes(signedMessage)];
        if (byWallet.get(wallet) !== undefined) return { status: 'bound' };
        if (proofs.some((proof) => isUsed.get(proof) !== undefined)) return { status: 'used' };
        if (byCode.get(code) !== undefined) return { status: 'taken' };
        insert.run(wallet, code, createdAt);
        for (const proof of proofs) markUsed.run(proof);
        return { status: 'registered' };
      }),
    byWallet: (wallet: Address) => read('read an affiliate', () => readAffiliate(byWallet.get(toBytes(wallet)))),
    byCode: (code: string) => read('read an affiliate', () => readAffiliate(byCode.get(code))),
  };
}
