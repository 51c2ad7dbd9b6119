import assert from 'node:assert/strict';
import type {
  Address,
  BlockRef,
  ChainEvent,
  ChainEventBatch,
  Hex,
  NewOrder,
  OrderInsert,
  PlacementChainEvent,
  Store,
  StoredEvent,
  StoredOrder,
} from 'intentbook';

// A chain with random forks, and orders before, between and after its chain events. The state of a store must not
// depend on its history: it equals a store with the canonical chain only.

/** One step of a sequence. Numbers select from existing items, so that any list of steps is valid. */
export type Step =
  | { readonly op: 'blocks'; readonly blocks: readonly (readonly Pick[])[] }
  | { readonly op: 'rollback'; readonly depth: number }
  /** Rolled back blocks return if they still fit. */
  | { readonly op: 'return' }
  /** The last batch is applied again. */
  | { readonly op: 'again' }
  | { readonly op: 'insert'; readonly order: number }
  | { readonly op: 'cancel'; readonly order: number }
  /** Time advances and expired orders are swept. */
  | { readonly op: 'expire'; readonly seconds: number };

export interface Pick {
  readonly type: 'trade' | 'invalidation' | 'presign' | 'unsign' | 'placement' | 'refund' | 'settlement';
  readonly order: number;
  readonly amount: number;
}

export const PICKS = ['trade', 'invalidation', 'presign', 'unsign', 'placement', 'refund', 'settlement'] as const;

const START = 1_700_000_000;
const NOW = START * 1000;
const ALICE: Address = `0x${'a1'.repeat(20)}`;
const ETHFLOW: Address = `0x${'ef'.repeat(20)}`;
const TRADER: Address = `0x${'7a'.repeat(20)}`;
const ACCOUNTS = [ALICE, ETHFLOW, TRADER];
const [WETH, USDC]: [Address, Address] = [`0x${'e1'.repeat(20)}`, `0x${'c1'.repeat(20)}`];

interface Sample extends OrderInsert {
  /** Text of the order when it is placed on chain. */
  readonly placed?: NewOrder;
}

/** One order of each relevant kind. */
export const ORDERS: readonly Sample[] = [
  sample(1, { kind: 'sell', sellAmount: '10', buyAmount: '7' }),
  sample(2, { kind: 'buy', sellAmount: '9', buyAmount: '12' }, { signingScheme: 'ethsign' }),
  sample(3, { kind: 'sell', sellAmount: '5', buyAmount: '5' }, PRESIGN()),
  placeable(4, { kind: 'sell', sellAmount: '6', buyAmount: '3' }),
  placeable(5, { kind: 'buy', sellAmount: '6', buyAmount: '4' }),
  sample(6, { kind: 'sell', sellAmount: '10', buyAmount: '7' }, { validTo: START - 5 }),
  sample(7, { kind: 'sell', sellAmount: '4', buyAmount: '7' }, { validTo: START + 200 }),
  sample(8, { kind: 'sell', sellAmount: '5', buyAmount: '5' }, { ...PRESIGN(), validTo: START + 400 }),
];

function PRESIGN(): Partial<NewOrder> {
  return { signingScheme: 'presign', state: 'presignaturePending', quotaClass: 'pending' };
}

function sample(n: number, terms: object, changes: Partial<NewOrder> = {}): Sample {
  const owner = changes.owner ?? ALICE;
  const validTo = changes.validTo ?? START + 3600;
  const order: NewOrder = {
    uid: `0x${String(n).padStart(64, '0')}${owner.slice(2)}${validTo.toString(16).padStart(8, '0')}`,
    owner,
    validTo,
    creationDate: NOW + n,
    sellToken: WETH,
    buyToken: USDC,
    signingScheme: 'eip712',
    state: 'open',
    quotaClass: 'open',
    appData: `0x${'0'.repeat(64)}`,
    body: JSON.stringify({ n, ...terms }),
    ...changes,
  };
  return { order };
}

function placeable(n: number, terms: object): Sample {
  const { order } = sample(n, terms, {
    owner: ETHFLOW,
    validTo: 0xffff_ffff,
    signingScheme: 'eip1271',
    quotaClass: 'pending',
  });
  return { order, placed: { ...order, quotaClass: 'open', validTo: START + 600 + n, creationDate: NOW - n * 1000 } };
}

/** A block of the chain. */
interface Block extends BlockRef {
  readonly parent: Hex;
  readonly facts: readonly ChainEvent[];
}

/** The history for a store that receives only the canonical chain. */
type Entry =
  | { readonly blocks: readonly Block[] }
  | { readonly insert: OrderInsert }
  | { readonly cancel: Hex; readonly now: number }
  | { readonly expire: number };

/** Time after the end of all orders of a sequence with a limited validity. */
export const END = START + 10_000;

const GENESIS: Block = { number: 100, hash: hash(0), parent: hash(0), facts: [] };

/** Runs a sequence on several stores. @returns the canonical history. */
export async function play(steps: readonly Step[], stores: readonly Store[], verify: Verifier): Promise<Entry[]> {
  let history: Entry[] = [];
  let chain: Block[] = [GENESIS];
  let shelved: Block[] = [];
  let last: ChainEventBatch | undefined;
  let minted = 0;
  let now = START;
  const tip = () => chain.at(-1) ?? GENESIS;

  const all = async <T>(call: (store: Store) => Promise<T>): Promise<T> => {
    const [first, ...others] = await Promise.all(stores.map(call));
    for (const other of others) assert.deepEqual(other, first);
    return first as T; // at least one store exists
  };

  const extend = async (blocks: readonly Block[]) => {
    last = batchOf(blocks, tip());
    const batch = last;
    const outcome = await all((store) => store.chain.apply(batch));
    assert.equal(outcome.status, 'applied');
    chain.push(...blocks);
    history.push({ blocks });
  };

  for (const step of steps) {
    switch (step.op) {
      case 'blocks': {
        const blocks: Block[] = [];
        for (const picks of step.blocks) blocks.push(mint(++minted, blocks.at(-1) ?? tip(), picks));
        if (blocks.length > 0) await extend(blocks);
        break;
      }
      case 'rollback': {
        const keep = Math.max(1, chain.length - step.depth);
        const gone = new Set(chain.slice(keep));
        shelved = chain.slice(keep);
        chain = chain.slice(0, keep);
        const outcome = await all((store) => store.chain.rollback({ to: tip().number, at: NOW }));
        assert.equal(outcome.status, 'rolledBack');
        history = history.map((entry) =>
          'blocks' in entry ? { blocks: entry.blocks.filter((block) => !gone.has(block)) } : entry,
        );
        last = undefined;
        break;
      }
      case 'return':
        if (shelved[0]?.parent === tip().hash) await extend(shelved);
        shelved = [];
        break;
      case 'again': {
        if (last === undefined) break;
        const { after: _, ...again } = last;
        const outcome = await all((store) => store.chain.apply(again));
        assert.equal(outcome.status === 'applied' && outcome.applied, 0);
        break;
      }
      case 'insert': {
        const insert = { order: pick(ORDERS, step.order).order };
        const [outcome] = await all((store) => store.orders.insert([insert]));
        if (outcome?.status === 'inserted') history.push({ insert });
        break;
      }
      case 'cancel': {
        const cancel = pick(ORDERS, step.order).order.uid;
        const request = { uids: [cancel], now, cancelledAt: NOW };
        const outcome = await all((store) => store.orders.cancel(request));
        if (outcome.status === 'cancelled') history.push({ cancel, now });
        break;
      }
      case 'expire': {
        now += step.seconds;
        const time = now;
        await all((store) => store.orders.expire(time, 100));
        history.push({ expire: now });
        break;
      }
    }
    for (const store of stores) await verify(store, now);
  }
  // A sweep can precede a rollback, after which only the next sweep is final.
  await all((store) => store.orders.expire(END, 100));
  history.push({ expire: END });
  return history;
}

/** Applies only the canonical history to a store. */
export async function applyHistory(history: readonly Entry[], store: Store): Promise<void> {
  let before = GENESIS;
  for (const entry of history) {
    if ('insert' in entry) assert.deepEqual(await store.orders.insert([entry.insert]), [{ status: 'inserted' }]);
    else if ('expire' in entry) await store.orders.expire(entry.expire, 100);
    else if ('cancel' in entry) {
      const outcome = await store.orders.cancel({ uids: [entry.cancel], now: entry.now, cancelledAt: NOW });
      assert.equal(outcome.status, 'cancelled');
    } else if (entry.blocks.length > 0) {
      const outcome = await store.chain.apply(batchOf(entry.blocks, before));
      assert.equal(outcome.status, 'applied');
      before = entry.blocks.at(-1) ?? before;
    }
  }
}

/** Applies the base block of every sequence. */
export async function begin(store: Store): Promise<void> {
  await store.chain.apply({ ...batchOf([GENESIS], GENESIS), after: null });
}

/** Reads the complete visible state of a store, without traces of its history. */
export async function look(store: Store) {
  const uids = ORDERS.map(({ order }) => order.uid);
  const withoutVersion = ({ version: _, ...order }: StoredOrder) => order;
  const sorted = (orders: readonly StoredOrder[]) =>
    orders.map(withoutVersion).sort((a, b) => (a.uid < b.uid ? -1 : 1));
  const perAccount = await Promise.all(
    ACCOUNTS.map(async (account) => ({
      account,
      count: await store.orders.count(account, END),
      listed: (await store.orders.list({ owner: account, limit: 100 })).map(withoutVersion),
      trades: await store.chain.trades({ filter: { account }, limit: 1000 }),
    })),
  );
  const perStatus = await Promise.all(
    (['open', 'presignaturePending', 'fulfilled', 'cancelled', 'expired'] as const).map(async (is) => ({
      is,
      listed: (await store.orders.list({ status: { is, now: END }, limit: 100 })).map(withoutVersion),
    })),
  );
  return {
    orders: sorted(await store.orders.get(uids)),
    perAccount,
    perStatus,
    perOrder: await Promise.all(uids.map((uid) => store.chain.trades({ filter: { uid }, limit: 1000 }))),
    indexedBlock: (await store.chain.progress()).indexedBlock,
    standing: standing(await everything(store)),
  };
}

/** Checks an open store after each step. */
export type Verifier = (store: Store, now: number) => Promise<void>;

/**
 * A version identifies one state of a row, also if its UID is deleted and inserted again: caches and entity tags
 * depend on it. Counters must match a count of the rows. The log contains at most one expiry of an order, and only
 * while it is valid.
 */
export function invariants(): Verifier {
  const seen = new Map<Store, Map<string, string>>();
  return async (store, now) => {
    const rows = seen.get(store) ?? new Map<string, string>();
    seen.set(store, rows);
    const orders = await store.orders.get(ORDERS.map(({ order }) => order.uid));
    for (const order of orders) {
      const key = `${order.uid} ${order.version}`;
      const row = JSON.stringify(order);
      assert.equal(rows.get(key) ?? row, row, 'one version, two rows');
      rows.set(key, row);
    }
    for (const account of ACCOUNTS) {
      const { open, pending } = await store.orders.count(account, now);
      const living = orders.filter(
        ({ uid, state, validTo }) =>
          uid.slice(66, 106) === account.slice(2) &&
          (state === 'open' || state === 'presignaturePending') &&
          validTo >= now,
      );
      assert.equal(open + pending, living.length, 'counters');
    }
    const expired = standing(await everything(store)).map((entry) => JSON.parse(entry) as [string, string]);
    for (const [uid, type] of expired) {
      if (type !== 'expired') continue;
      const row = orders.find((order) => order.uid === uid);
      assert.ok(row !== undefined && row.validTo < now, 'expired before its time');
      assert.ok(row.state === 'open' || row.state === 'presignaturePending', 'expired, though it had ended');
    }
  };
}

function batchOf(blocks: readonly Block[], after: BlockRef): ChainEventBatch {
  const through = refOf(blocks.at(-1) ?? GENESIS);
  return {
    through,
    after: refOf(after),
    at: NOW,
    forgetBelow: 0,
    blocks: blocks.map(refOf),
    events: blocks.flatMap(({ facts }) => facts),
  };
}

const refOf = ({ number, hash: of }: BlockRef): BlockRef => ({ number, hash: of });

/** Creates a block that is unique among all forks. */
function mint(n: number, parent: BlockRef, picks: readonly Pick[]): Block {
  const number = parent.number + 1;
  const block = { number, hash: hash(n), parent: parent.hash };
  const facts = picks.map((each, i): ChainEvent => factOf(each, block, i));
  return { ...block, facts: facts.filter((fact) => fact.type !== 'placement' || fact.order !== undefined) };
}

function factOf({ type, order: n, amount }: Pick, block: BlockRef, i: number): ChainEvent {
  const { order, placed } = pick(ORDERS, n);
  const { uid, owner } = order;
  const base = {
    blockNumber: block.number,
    blockHash: block.hash,
    logIndex: 3 * i + (amount % 3),
    uid,
    // Neighbours sometimes share a transaction.
    transactionHash: `0x${block.hash.slice(2, 60)}${String(i >> 1).padStart(6, '0')}` as Hex,
    timestamp: START + block.number,
  };
  switch (type) {
    case 'trade': {
      const amounts = { sellAmount: String(amount), buyAmount: String(amount + 1), feeAmount: String(amount % 2) };
      const executedFee = amount % 3 === 0 ? null : String(amount);
      const more = { executedFee, prices: null, protocolFees: [] };
      return { type, ...base, owner, sellToken: WETH, buyToken: USDC, ...amounts, ...more };
    }
    case 'settlement': {
      const { uid: _, ...place } = base;
      return { type, ...place, solver: ALICE, auctionId: amount };
    }
    case 'presign':
    case 'unsign':
      return { type: 'presignature', ...base, signed: type === 'presign' };
    case 'placement': {
      const row = placed as NewOrder; // entries without one are filtered out
      const details = { sender: TRADER, userValidTo: placed?.validTo ?? null, placementError: null };
      return { type, ...base, order: row, ...details } satisfies PlacementChainEvent;
    }
    case 'invalidation':
    case 'refund':
      return { type, ...base };
  }
}

function hash(n: number): Hex {
  return `0x${n.toString(16).padStart(64, '0')}`;
}

function pick<T>(list: readonly T[], n: number): T {
  return list[n % list.length] as T; // the lists are not empty
}

async function everything(store: Store): Promise<StoredEvent[]> {
  const events: StoredEvent[] = [];
  for (;;) {
    const page = await store.events.after(events.at(-1)?.id ?? 0, 500);
    if (page.length === 0) return events;
    events.push(...page);
  }
}

/**
 * Returns the effective log: each `reverted` entry removes the newest matching entry, and `revived` an `expired` one.
 */
function standing(events: readonly StoredEvent[]): string[] {
  const stands: string[] = [];
  for (const { id: _, ...event } of events) {
    const { reverted, ...cause } = event.cause ?? {};
    const named = JSON.stringify([event.uid, event.type, event.owner, cause]);
    if (event.type === 'expired') assert.ok(!stands.includes(named), 'expired twice');
    if (event.type !== 'reverted' && event.type !== 'reinstated') stands.push(named);
    else {
      const taken = JSON.stringify([event.uid, event.type === 'reinstated' ? 'expired' : reverted, event.owner, cause]);
      const index = stands.lastIndexOf(taken);
      assert.notEqual(index, -1, `nothing to take back: ${taken}`);
      stands.splice(index, 1);
    }
  }
  return stands.sort();
}
