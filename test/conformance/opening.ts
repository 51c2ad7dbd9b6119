import assert from 'node:assert/strict';
import type { Domain, Store } from 'intentbook';
import { StoreError } from 'intentbook';
import type { Rule } from './harness.ts';
import { DOMAIN } from './harness.ts';
import { ALICE, document, NOW, order, PLACED_AT, place, range, WETH, word } from './orders.ts';

const OTHER_CHAIN: Domain = { ...DOMAIN, chainId: 1 };
const OTHER_CONTRACT: Domain = { ...DOMAIN, settlementContract: `0x${'11'.repeat(20)}` };

const CALLS: Readonly<Record<string, (store: Store) => Promise<unknown>>> = {
  check: (store) => store.check(),
  'orders.insert': (store) => store.orders.insert([{ order: order(1) }]),
  'orders.get': (store) => store.orders.get([order(1).uid]),
  'orders.list': (store) => store.orders.list({ limit: 1 }),
  'orders.cancel': (store) => store.orders.cancel({ uids: [order(1).uid], now: NOW, cancelledAt: PLACED_AT }),
  'orders.count': (store) => store.orders.count(ALICE, NOW),
  'appData.put': (store) => store.appData.put(document(1, '{}')),
  'appData.get': (store) => store.appData.get(document(1, '').hash),
  'events.last': (store) => store.events.last(),
  'events.after': (store) => store.events.after(0, 1),
  'chain.progress': (store) => store.chain.progress(),
  'chain.blocks': (store) => store.chain.blocks(),
  'chain.apply': (store) =>
    store.chain.apply({ events: [], blocks: [], through: { number: 1, hash: word(1) }, forgetBelow: 0, at: PLACED_AT }),
  'chain.rollback': (store) => store.chain.rollback({ to: 0, at: PLACED_AT }),
  'chain.trades': (store) => store.chain.trades({ filter: { uid: order(1).uid }, limit: 1 }),
  'chain.settlements': (store) => store.chain.settlements(word(1)),
  'chain.firstTrade': (store) => store.chain.firstTrade(WETH),
  'chain.settlementsOfAuction': (store) => store.chain.settlementsOfAuction(1),
  'auctions.insert': (store) => store.auctions.insert({ block: 1, prices: '{}' }, 1, 1),
  'auctions.get': (store) => store.auctions.get(1),
  'auctions.record': (store) => store.auctions.record({ auctionId: 1, deadline: 1, body: '{}', orders: '0x' }, 1),
  'auctions.competition': (store) => store.auctions.competition(1),
  'auctions.lastCompetition': (store) => store.auctions.lastCompetition(),
  'auctions.competitions': (store) => store.auctions.competitions({ limit: 1 }),
  'leases.acquire': (store) => store.leases.acquire({ name: 'sweep', holder: 'a', ttl: 1000 }),
  'leases.release': (store) => store.leases.release({ name: 'sweep', holder: 'a' }),
};

const isClosedError = (error: unknown) => error instanceof StoreError && error.code === 'Closed';

async function assertClosed(store: Store): Promise<void> {
  for (const [name, call] of Object.entries(CALLS)) {
    await assert.rejects(call(store), isClosedError, name);
  }
  if (store.events.isNewest !== undefined) assert.throws(() => store.events.isNewest?.(0), isClosedError);
}

export const OPENING: readonly Rule[] = [
  {
    name: 'declares the traits of its factory',
    async run({ store, traits }) {
      assert.deepEqual(store.traits, traits);
    },
  },
  {
    name: 'passes its health check while it is open',
    async run({ store }) {
      await store.check();
    },
  },
  {
    name: 'rejects every operation before it is opened',
    async run({ store, storage }) {
      await store.close();
      await assertClosed(storage.connect());
    },
  },
  {
    name: 'rejects every operation after it is closed',
    async run({ store }) {
      await place(store, order(1));
      await store.close();
      await assertClosed(store);
    },
  },
  {
    name: 'ignores a second close and a close before the open',
    async run({ store, storage }) {
      await store.close();
      await store.close();
      await storage.connect().close();
    },
  },
  {
    name: 'keeps written data after it is closed and reopened',
    async run({ store, open }) {
      const inserts = range(5).map((n) => ({
        order: order(n, { appData: document(n, '').hash, creationDate: PLACED_AT + n }),
        document: document(n, `{"n":${n}}`),
      }));
      await store.orders.insert(inserts);
      await store.orders.cancel({ uids: [order(3).uid], now: NOW, cancelledAt: PLACED_AT });
      await store.orders.addQuote(order(1).uid, { body: '{"gasAmount":"1"}', metadata: '{}' });
      const look = async (seen: Store) => ({
        listed: await seen.orders.list({ limit: 100 }),
        open: await seen.orders.list({ status: { is: 'open', now: NOW }, limit: 100 }),
        counts: await seen.orders.count(ALICE, NOW),
        events: await seen.events.after(0, 100),
        document: await seen.appData.get(document(3, '').hash),
      });
      const before = await look(store);
      assert.equal(before.listed.length, 5);
      await store.close();
      const again = await open();
      assert.deepEqual(await look(again), before);
      assert.deepEqual(await again.orders.insert([{ order: order(4) }]), [{ status: 'duplicate' }]);
      await place(again, order(9));
      assert.equal(await again.events.last(), 7);
    },
  },
  {
    name: 'can be opened again after it was closed',
    async run({ store, storage }) {
      await place(store, order(1));
      await store.close();
      const again = storage.connect();
      for (let i = 0; i < 3; i++) {
        await again.open({ domain: DOMAIN, clock: { now: () => PLACED_AT, after: () => () => {} } });
        assert.equal((await again.orders.get([order(1).uid])).length, 1);
        await again.close();
      }
    },
  },
  {
    name: 'rejects a store of one domain for another, names both and leaves the data unchanged',
    async run({ store, open }) {
      await place(store, order(1));
      await store.close();
      for (const other of [OTHER_CHAIN, OTHER_CONTRACT]) {
        await assert.rejects(open(other), (error) => {
          assert.ok(error instanceof StoreError);
          assert.equal(error.code, 'DomainMismatch');
          for (const { chainId, settlementContract } of [DOMAIN, other]) {
            assert.match(error.message, new RegExp(`${chainId}.*${settlementContract}`));
          }
          return true;
        });
      }
      assert.equal((await (await open()).orders.get([order(1).uid])).length, 1);
    },
  },
  {
    name: 'keeps the domain of an empty store',
    async run({ store, open }) {
      await store.close();
      await assert.rejects(open(OTHER_CHAIN), { code: 'DomainMismatch' });
    },
  },
  {
    name: 'rejects a second live writer while the first continues',
    skip: ({ writers }) => (writers === 'many' ? 'traits.writers is "many": it takes several' : undefined),
    async run({ store, storage, open }) {
      const second = storage.connect();
      await assert.rejects(
        second.open({ domain: DOMAIN, clock: { now: () => Date.now(), after: () => () => {} } }),
        (error) => error instanceof StoreError && error.code === 'WriterActive',
      );
      await place(store, order(1));
      await store.close();
      const next = await open();
      assert.equal((await next.orders.get([order(1).uid])).length, 1);
      await place(next, order(2));
    },
  },
  {
    name: 'shares writes between several stores over one storage',
    skip: ({ writers }) => (writers === 'single' ? 'traits.writers is "single": there is one' : undefined),
    async run({ writers }) {
      for (const [n, writer] of writers.entries()) await place(writer, order(n));
      for (const writer of writers) {
        assert.equal((await writer.orders.list({ limit: 10 })).length, writers.length);
        assert.equal((await writer.events.after(0, 10)).length, writers.length);
        assert.deepEqual(await writer.orders.count(ALICE, NOW), { open: writers.length, pending: 0 });
      }
    },
  },
];
