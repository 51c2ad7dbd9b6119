import fc from 'fast-check';
import type { CancelRequest, NewOrder, OrderInsert, OrderQuery, Store } from 'intentbook';
import { expect, test } from 'vitest';
import { address, document, order } from '../../conformance/orders.ts';
import { alongside, SUBJECTS } from './second-store.ts';

/** Small value ranges, so that random choices collide: few orders, owners, tokens and seconds. */
const number = fc.integer({ min: 0, max: 25 });
const owner = fc.constantFrom(address(1), address(2));
const token = fc.constantFrom(address(11), address(12), address(13));
const second = fc.integer({ min: 0, max: 12 });

/** All fields of an order depend on its number, apart from its creation date. */
function nthOrder(n: number, creationDate: number): NewOrder {
  const waits = n % 5 === 4;
  return order(n, {
    creationDate,
    owner: address(1 + (n % 2)),
    sellToken: address(11 + (n % 3)),
    buyToken: address(11 + ((n >> 1) % 3)),
    validTo: 3 + (n % 8),
    signingScheme: waits ? 'presign' : (['eip712', 'ethsign', 'eip1271'] as const)[n % 3] || 'eip712',
    state: waits ? 'presignaturePending' : 'open',
    quotaClass: waits || n % 7 === 0 ? 'pending' : 'open',
    appData: document(n % 4, '').hash,
    body: `{ "n": ${n} }`,
  });
}

const uidOf = (n: number) => nthOrder(n, 0).uid;

const insert: fc.Arbitrary<OrderInsert> = fc
  .record(
    {
      n: number,
      at: fc.integer({ min: 0, max: 12_999 }),
      quota: fc.integer({ min: 0, max: 5 }),
      replaces: number.map(uidOf),
      text: fc.string({ unit: 'grapheme', maxLength: 8 }),
    },
    { requiredKeys: ['n', 'at'] },
  )
  .map(({ n, at, text, ...rest }) => ({
    ...rest,
    order: nthOrder(n, at),
    ...(text === undefined ? {} : { document: document(n % 4, JSON.stringify({ text })) }),
  }));

const cancel: fc.Arbitrary<CancelRequest> = fc.record({
  uids: fc.array(number.map(uidOf), { maxLength: 3 }),
  now: second,
  cancelledAt: fc.nat(12_999),
});

const query: fc.Arbitrary<OrderQuery> = fc.record(
  {
    owner,
    sellToken: token,
    buyToken: token,
    status: fc.record({
      is: fc.constantFrom('open', 'presignaturePending', 'cancelled', 'fulfilled', 'expired'),
      now: second,
    }),
    after: fc.record({ creationDate: fc.nat(13_000), uid: number.map(uidOf) }),
    offset: fc.nat(4),
    limit: fc.nat(30),
  },
  { requiredKeys: ['limit'] },
);

/** An operation of a book on its store. */
interface Step {
  readonly label: string;
  readonly run: (store: Store) => Promise<unknown>;
}

const describeStep = (verb: string, value: unknown) => `${verb} ${JSON.stringify(value)}`;

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc
      .array(insert, { maxLength: 4 })
      .map(
        (inserts): Step => ({ label: describeStep('insert', inserts), run: (store) => store.orders.insert(inserts) }),
      ),
  },
  {
    weight: 3,
    arbitrary: cancel.map(
      (request): Step => ({ label: describeStep('cancel', request), run: (store) => store.orders.cancel(request) }),
    ),
  },
  {
    weight: 3,
    arbitrary: query.map(
      (query): Step => ({ label: describeStep('list', query), run: (store) => store.orders.list(query) }),
    ),
  },
  second.map((now): Step => ({ label: describeStep('expire', now), run: (store) => store.orders.expire(now, 100) })),
  fc.tuple(owner, second).map(
    ([owner, now]): Step => ({
      label: describeStep('count', { owner, now }),
      run: (store) => store.orders.count(owner, now),
    }),
  ),
  fc.tuple(number, fc.string({ unit: 'grapheme' }), fc.option(fc.integer({ min: 1, max: 3 }), { nil: undefined })).map(
    ([n, text, keep]): Step => ({
      label: describeStep('put', { n, text, keep }),
      run: (store) => store.appData.put(document(n % 8, JSON.stringify(text)), keep),
    }),
  ),
  fc.array(number.map(uidOf)).map(
    (uids): Step => ({
      label: describeStep('get', uids),
      run: async (store) => (await store.orders.get(uids)).sort((a, b) => (a.uid < b.uid ? -1 : 1)),
    }),
  ),
  fc.tuple(fc.nat(20), fc.nat(10)).map(
    ([id, limit]): Step => ({
      label: describeStep('events', { id, limit }),
      run: (store) => store.events.after(id, limit),
    }),
  ),
);

/** Reads the complete content of a store. */
async function everything(store: Store) {
  return {
    orders: await store.orders.list({ limit: 100 }),
    events: await store.events.after(0, 1000),
    last: await store.events.last(),
    documents: await Promise.all(Array.from({ length: 8 }, (_, n) => store.appData.get(document(n, '').hash))),
    counts: await Promise.all([0, 3, 6, 9, 12].map((now) => store.orders.count(address(1), now))),
  };
}

test.each(SUBJECTS)('$name store matches the memory store after random operations', async (subject) => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), (steps) =>
      alongside(subject, async (store, oracle) => {
        for (const { label, run } of steps) expect(await run(store), label).toEqual(await run(oracle));
        expect(await everything(store)).toEqual(await everything(oracle));
      }),
    ),
    { numRuns: subject.runs },
  );
});
