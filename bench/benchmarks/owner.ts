import type { Address, Hex, OrderInsert, OrderQuery, Store } from 'intentbook';
import { systemClock } from 'intentbook';
import { sqliteStore } from 'intentbook/sqlite';
import type { CreateBenchmark, Measure, Subject } from '../benchmark.ts';
import { measureTime, readMeasured } from '../benchmark.ts';
import { checkOwner, expectCount } from '../checks.ts';
import { assertInserted, createModelOrder, getCreationDate, getUid, scratchFile, VALID_TO } from '../files.ts';
import { DOMAIN, hashText } from '../orders.ts';
import { createBenchStore, openBenchServer } from '../postgres.ts';

const PAGE = 10;
const PAGES = 100;
const QUIET_ORDERS = 100;
const BATCH = 1000;

const createAddress = (name: string): Address => `0x${hashText(name).toString('hex', 0, 20)}`;
const BUSY = createAddress('busy');
const QUIET = createAddress('quiet');

/**
 * An owner of very many live orders, compared with an owner of few orders and an owner without orders. The stores are
 * called directly, so that common costs do not hide the difference.
 */
export const benchmark: CreateBenchmark = ({ tiny, orders }) => {
  const count = tiny ? 2 * PAGE * PAGES : Math.min(100_000, orders.at(-1) ?? 0);
  const repetitions = tiny ? 1 : 60;

  const subject = async (store: Store, note: string, close: () => Promise<void>): Promise<Subject> => {
    const model = await createModelOrder();
    let created = 0;
    const createOrder = (owner: Address): OrderInsert => {
      const index = created++;
      const creationDate = getCreationDate(index);
      const uid = `${getUid(index).slice(0, 66)}${owner.slice(2)}${VALID_TO.toString(16)}` as Hex; // its three parts
      return { ...model, quota: 10 * count, order: { ...model.order, uid, owner, creationDate, validTo: VALID_TO } };
    };
    await store.open({ domain: DOMAIN, clock: systemClock });
    // The orders of the quiet owner are distributed over the whole time.
    const owners = Array.from({ length: count + QUIET_ORDERS }, (_, i) =>
      i % Math.ceil(count / QUIET_ORDERS) === 1 ? QUIET : BUSY,
    );
    for (let start = 0; start < owners.length; start += BATCH) {
      const inserts = owners.slice(start, start + BATCH).map(createOrder);
      assertInserted(await store.orders.insert(inserts), inserts.length);
    }
    const before = await store.orders.list({ owner: BUSY, limit: 1, offset: PAGE * (PAGES - 1) - 1 });
    const [last] = before;
    if (last === undefined) throw new Error('the busy owner has too few orders');
    const deep = { creationDate: last.creationDate, uid: last.uid };
    const readPage = (query: OrderQuery & { readonly owner: Address }) =>
      measureTime(1, () => store.orders.list(query), {
        repetitions,
        check(page) {
          expectCount(PAGE)(page.length);
          checkOwner(page, query.owner);
        },
      });
    const insert = (inserts: readonly OrderInsert[]) =>
      measureTime(1, () => store.orders.insert(inserts), { check: (outcomes) => assertInserted(outcomes, 1) });
    let otherOwners = 0;
    return {
      note,
      async round() {
        const first = await readPage({ owner: BUSY, limit: PAGE });
        const hundredth = await readPage({ owner: BUSY, limit: PAGE, after: deep });
        const quiet = await readPage({ owner: QUIET, limit: PAGE });
        // Interleaved, so that other activity of the disk affects both.
        const busyTimes: number[] = [];
        const otherTimes: number[] = [];
        for (let i = 0; i < repetitions / 2; i++) {
          const [busy, other] = [createOrder(BUSY), createOrder(createAddress(`stranger ${otherOwners++}`))];
          busyTimes.push((await insert([busy])).time);
          otherTimes.push((await insert([other])).time);
        }
        return {
          time: first.time,
          'page 100': hundredth.time,
          'owner of 100': quiet.time,
          'insert for the owner': getMedian(busyTimes),
          'insert for another owner': getMedian(otherTimes),
        };
      },
      async close() {
        await store.close();
        await close();
      },
    };
  };

  const ratio = (name: string, title: string, dividend: string, divisor: string): Measure => ({
    title: `${name}: ${title}`,
    target: { atMost: 1.5 },
    compute: (round) => readMeasured(name, dividend)(round) / readMeasured(name, divisor)(round),
  });

  return {
    title: `owner of ${count} live orders`,
    subjects: {
      SQLite: () => subject(sqliteStore({ path: scratchFile('owner') }), 'synchronous=FULL', async () => {}),
      async PostgreSQL() {
        const server = await openBenchServer(['bench_owner']);
        return subject(createBenchStore(server, 'bench_owner'), server.version, server.close);
      },
    },
    measures: ['SQLite', 'PostgreSQL'].flatMap((name) => [
      ratio(name, 'page 100 ÷ page 1', 'page 100', 'time'),
      ratio(name, 'page 1 ÷ page 1 of an owner of 100 orders', 'time', 'owner of 100'),
      ratio(
        name,
        'insert for the owner ÷ insert for an owner without orders',
        'insert for the owner',
        'insert for another owner',
      ),
    ]),
  };
};

function getMedian(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}
