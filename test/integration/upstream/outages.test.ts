import type { Hex } from 'intentbook';
import { describe, expect, test } from 'vitest';
import { postElsewhere, untilCurrent, type World, world } from './worlds.ts';

/** Each read of the other book has this status, until it is called with `undefined`. */
function failReads({ upstream }: World) {
  const { getOrders, listOrders, listTrades } = upstream;
  let httpStatus: number | undefined;
  const fail = () => ({ status: 'failed', reason: `status ${httpStatus}`, httpStatus: httpStatus ?? 0 }) as const;
  upstream.getOrders = async (uids) => (httpStatus === undefined ? getOrders(uids) : fail());
  upstream.listOrders = async (owner, page) => (httpStatus === undefined ? listOrders(owner, page) : fail());
  upstream.listTrades = async (of, page) => (httpStatus === undefined ? listTrades(of, page) : fail());
  return (status: number | undefined) => {
    httpStatus = status;
  };
}

const listOwn = async ({ book, alice }: World) =>
  (await book.orders.list({ owner: alice.address, limit: 1000 })).orders.map(({ uid }) => uid);

describe('while each read of the other book has status 502', () => {
  test('an import leaves out no row', async () => {
    const here = await world();
    const uids = await postElsewhere(here, 60);
    const setStatus = failReads(here);
    setStatus(502);
    await here.book.upstream?.follow({ owners: [here.alice.address] });
    await here.pass(120_000, 1000);
    setStatus(undefined);
    await untilCurrent(here);
    expect(await here.book.upstream?.owner(here.alice.address)).toMatchObject({ skipped: 0, orders: 60 });
    expect(await listOwn(here)).toEqual([...uids].reverse());
  });

  test('no order is read less often afterwards', async () => {
    const here = await world();
    const [uid = '0x'] = await postElsewhere(here, 3, { validTo: Math.floor(here.clock.now() / 1000) + 36_000 });
    await here.book.upstream?.follow({ uids: [uid] });
    await here.pass(3000);
    const setStatus = failReads(here);
    setStatus(502);
    await here.pass(3_600_000, 5000);
    await here.other.orders.cancel(await here.cancellation([uid]));
    setStatus(undefined);
    await here.pass(60_000);
    expect(await here.status(uid)).toBe('cancelled');
  });
});

describe('while no row of the other book can be read, and pages beyond the end are empty', () => {
  test('an import leaves out no row', async () => {
    const here = await world();
    const uids = await postElsewhere(here, 60);
    for (const [row] of uids.entries()) here.upstream.broken.add(row);
    await here.book.upstream?.follow({ owners: [here.alice.address] });
    await here.pass(120_000, 1000);
    here.upstream.broken.clear();
    await untilCurrent(here);
    expect(await here.book.upstream?.owner(here.alice.address)).toMatchObject({ skipped: 0, orders: 60 });
    expect(await listOwn(here)).toEqual([...uids].reverse());
  });

  test('an import leaves out the only row of an owner after a day', async () => {
    const here = await world();
    await postElsewhere(here, 1);
    here.upstream.broken.add(0);
    await here.book.upstream?.follow({ owners: [here.alice.address] });
    await here.pass(60_000, 1000);
    await here.pass(86_000_000, 600_000);
    expect(await here.book.upstream?.owner(here.alice.address)).toMatchObject({ skipped: 0 });
    await here.pass(1_000_000, 20_000);
    expect(await here.book.upstream?.owner(here.alice.address)).toMatchObject({ skipped: 1 });
  });
});

test('an import does not end with the list of a failover, which may be far behind', async () => {
  const here = await world();
  const uids = await postElsewhere(here, 30);
  const { listOrders } = here.upstream;
  here.upstream.host = 'failover.example';
  here.upstream.listOrders = (owner, { offset, limit }) => listOrders(owner, { offset: offset + 20, limit });
  await here.book.upstream?.follow({ owners: [here.alice.address] });
  await here.pass(60_000, 5000);
  const early: Hex[] = await listOwn(here);
  here.upstream.host = here.upstream.name;
  here.upstream.listOrders = listOrders;
  await untilCurrent(here);
  expect(await listOwn(here)).toEqual([...uids].reverse());
  expect(early.length).toBeLessThanOrEqual(10);
});
