import { createVerifier, type Domain, type Order, type Store, type StoredOrder, type Verifier } from 'intentbook';
import { appDataHash, bytesToHex } from '#internal';
import type { Progress } from './progress.ts';
import { countOrders, readPages } from './walk.ts';

export interface Verified {
  readonly orders: number;
  /** Number of recovered ECDSA signatures. */
  readonly signatures: number;
  /** Number of contract signatures and presignatures, which only the chain can verify. */
  readonly onChain: number;
  readonly problems: readonly Problem[];
}

export interface Problem {
  readonly uid: string;
  readonly reason: string;
}

/** The hash that stands for the document {}. See docs/internals/decisions.md#d2-16. */
const ZERO_HASH = `0x${'0'.repeat(64)}`;

/** Verifies every UID, signature and document of a store. */
export async function verifyBook(store: Store, domain: Domain, progress: Progress): Promise<Verified> {
  const verifier = await createVerifier(domain);
  const total = await countOrders(store);
  const problems: Problem[] = [];
  let orders = 0;
  let signatures = 0;
  let onChain = 0;
  for await (const page of readPages(store)) {
    const result = await Promise.all(page.map((row) => findProblem(row, domain, verifier)));
    for (const [i, { reason, recovered }] of result.entries()) {
      if (recovered) signatures++;
      else if (reason === undefined) onChain++;
      if (reason !== undefined) problems.push({ uid: page[i]?.uid ?? '', reason });
    }
    orders += page.length;
    progress.at(orders, total);
  }
  return { orders, signatures, onChain, problems };
}

async function findProblem(
  { uid, body, fullAppData }: StoredOrder,
  domain: Domain,
  verifier: Verifier,
): Promise<{ reason?: string; recovered: boolean }> {
  let order: Order;
  try {
    order = JSON.parse(body) as Order; // the checks below validate its members
    const { sellAmount, buyAmount, feeAmount } = order;
    const amounts = { sellAmount: BigInt(sellAmount), buyAmount: BigInt(buyAmount), feeAmount: BigInt(feeAmount) };
    const digest = bytesToHex(verifier.hasher.digest({ ...order, ...amounts }));
    const expiry = order.validTo.toString(16).padStart(8, '0');
    if (uid !== `${digest}${order.owner.slice(2)}${expiry}`) {
      return { reason: 'the UID does not match the fields', recovered: false };
    }
  } catch {
    return { reason: 'the row is damaged', recovered: false };
  }
  if (order.settlementContract !== domain.settlementContract) {
    return { reason: `it names the settlement contract ${order.settlementContract}`, recovered: false };
  }
  if (fullAppData !== null && order.appData !== ZERO_HASH && appDataHash(fullAppData) !== order.appData) {
    return { reason: 'the document does not match its hash', recovered: false };
  }
  if (order.signingScheme === 'presign' || order.signingScheme === 'eip1271') return { recovered: false };
  const [recovered] = await verifier.recoverMany([order]);
  const ok = recovered?.signer === order.owner;
  return { ...(ok ? {} : { reason: `the signer is ${recovered?.signer ?? 'not recoverable'}` }), recovered: true };
}
