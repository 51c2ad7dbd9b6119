import type { Address, Hex, OrderInsert, Store } from 'intentbook';
import { systemClock } from 'intentbook';
import { sqliteStore } from 'intentbook/sqlite';
import type { MakeTrial, Measure, Subject } from '../benchmark.ts';
import { sampleOf, timed } from '../benchmark.ts';
import { createdAt, modelOrder, scratchFile, uidOf, VALID_TO } from '../files.ts';
import { DOMAIN, digestOf } from '../orders.ts';
import { benchServer, benchStore } from '../postgres.ts';

const PAGE = 10;
const PAGES = 100;
const QUIET_ORDERS = 100;
const BATCH = 1000;

const addressOf = (name: string): Address => `0x${digestOf(name).toString('hex', 0, 20)}`;
const BUSY = addressOf('busy');
const QUIET = addressOf('quiet');

/**
 * An owner of very many orders, all of them live, by one who has few and by one who has none. Asked of the stores
 * themselves, so that nothing that takes both equally long hides the difference.
 */
export const trial: MakeTrial = ({ tiny, orders }) => {
  const count = tiny ? 2 * PAGE * PAGES : Math.min(100_000, orders.at(-1) ?? 0);
  const pieces = tiny ? 1 : 60;

  const subject = async (store: Store, note: string, close: () => Promise<void>): Promise<Subject> => {
    const model = await modelOrder();
    let made = 0;
    const orderOf = (owner: Address): OrderInsert => {
      const index = made++;
      const creationDate = createdAt(index);
      const uid = `${uidOf(index).slice(0, 66)}${owner.slice(2)}${VALID_TO.toString(16)}` as Hex; // its three parts
      return { ...model, cap: 10 * count, order: { ...model.order, uid, owner, creationDate, validTo: VALID_TO } };
    };
    await store.open({ domain: DOMAIN, clock: systemClock });
    // The few of the quiet owner are spread over the whole time.
    const owners = Array.from({ length: count + QUIET_ORDERS }, (_, i) =>
      i % Math.ceil(count / QUIET_ORDERS) === 1 ? QUIET : BUSY,
    );
    for (let start = 0; start < owners.length; start += BATCH) {
      await store.orders.insert(owners.slice(start, start + BATCH).map(orderOf));
    }
    const before = await store.orders.list({ owner: BUSY, limit: 1, offset: PAGE * (PAGES - 1) - 1 });
    const [last] = before;
    if (last === undefined) throw new Error('the busy owner has too few orders');
    const deep = { creationDate: last.creationDate, uid: last.uid };
    const page = async (query: Parameters<typeof store.orders.list>[0]) => {
      if ((await store.orders.list(query)).length !== PAGE) throw new Error('a page is not full');
    };
    const insert = async (inserts: readonly OrderInsert[]) => {
      const [outcome] = await store.orders.insert(inserts);
      if (outcome?.status !== 'inserted') throw new Error('an order was rejected');
    };
    let strangers = 0;
    return {
      note,
      async round() {
        const first = await timed(1, () => page({ owner: BUSY, limit: PAGE }), { pieces });
        const hundredth = await timed(1, () => page({ owner: BUSY, limit: PAGE, after: deep }), { pieces });
        const quiet = await timed(1, () => page({ owner: QUIET, limit: PAGE }), { pieces });
        // One after the other: a disk that is busy with something else is so for both.
        const busy: number[] = [];
        const empty: number[] = [];
        for (let i = 0; i < pieces / 2; i++) {
          const [mine, theirs] = [orderOf(BUSY), orderOf(addressOf(`stranger ${strangers++}`))];
          busy.push((await timed(1, () => insert([mine]))).time);
          empty.push((await timed(1, () => insert([theirs]))).time);
        }
        return {
          time: first.time,
          'hundredth page': hundredth.time,
          'owner of 100': quiet.time,
          'order for the owner': middle(busy),
          'order for an empty one': middle(empty),
        };
      },
      async close() {
        await store.close();
        await close();
      },
    };
  };

  const ratio = (name: string, title: string, above: string, below: string): Measure => ({
    title: `${name}: ${title}`,
    bar: { atMost: 1.5 },
    of: (round) => (sampleOf(round, name)[above] ?? Number.NaN) / (sampleOf(round, name)[below] ?? Number.NaN),
  });

  return {
    title: `an owner of ${count} live orders`,
    subjects: {
      SQLite: () => subject(sqliteStore({ path: scratchFile('owner') }), 'synchronous=FULL', async () => {}),
      async PostgreSQL() {
        const server = await benchServer(['bench_owner']);
        return subject(benchStore(server, 'bench_owner'), server.version, server.close);
      },
    },
    measures: ['SQLite', 'PostgreSQL'].flatMap((name) => [
      ratio(name, 'the hundredth page ÷ the first', 'hundredth page', 'time'),
      ratio(name, 'the first page ÷ that of an owner of 100', 'time', 'owner of 100'),
      ratio(name, 'one more order ÷ the first of an empty owner', 'order for the owner', 'order for an empty one'),
    ]),
  };
};

function middle(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}
