import { OrderBookError } from '../errors.ts';
import { type Hex, parseHex, parseUid, unpackUid } from '../protocol/hex.ts';
import { createOrderHasher } from '../protocol/order.ts';
import { decodeSettledOrder } from '../protocol/settled-order.ts';
import { assertKnownOptions, requireAddress, requireList, requireUid } from '../validation/options.ts';
import { createCancellations } from './cancellations.ts';
import type { Insert, SettledOrders, UpstreamBook, UpstreamFeatureContext } from './context.ts';
import { describeEnd, isOver } from './final.ts';
import { createFollower } from './follower.ts';
import { describeImport, NEW_OWNER } from './import.ts';
import { AT_ONCE, createOwnerSchedule } from './owner-schedule.ts';
import { createUpstreamQuotes } from './quotes.ts';
import { createRelay, refresh } from './relay.ts';
import { createRelayWorker } from './relay-worker.ts';
import { createTasks, drop, makeDue, put } from './tasks.ts';
import type { UpstreamApi, UpstreamScope } from './upstream-api.ts';

/** Milliseconds in which several processes share the turns of a class of calls. */
const TURN = 'turn';

export function createUpstreamService(context: UpstreamFeatureContext & Pick<UpstreamBook, 'upstream'>) {
  const { store, clock, chainId, settlementContract, upstream, holder, onCall, onDifference } = context;
  const tasks = createTasks(store);
  const book: UpstreamBook = {
    ...context,
    tasks,
    mode: context.relay,
    hasher: createOrderHasher({ chainId, settlementContract }),
    differs: onDifference,
  };
  const insert: Insert = (inserts) => store.orders.insert(inserts);
  const cancellations = createCancellations(book, () => relays.wake());
  const relays = createRelayWorker(book, insert, cancellations);
  const isChainFollowed = () => context.chainState() === 'following' || context.chainState() === 'standing by';
  const schedule = createOwnerSchedule(book);
  const follower = createFollower({ book, insert, holder, schedule, isChainFollowed });

  const methods: UpstreamApi = {
    async follow(scope) {
      const { owners, uids, appData } = parseScope('upstream.follow', scope);
      const addresses = owners.map((owner) => requireAddress('owner', owner));
      const isNew = await tasks.write([
        ...addresses.map((owner) => put('owner', owner, clock.now(), NEW_OWNER, 0)), // a followed one stays as it is
        ...appData.map((hash) => put('appData', parseHash(hash), clock.now(), {}, 0)),
      ]);
      const known = addresses.filter((_, i) => isNew[i] !== true).slice(0, AT_ONCE);
      await makeDue(book, 'owner', known, NEW_OWNER);
      await refresh(book, uids);
      follower.wake();
    },
    async unfollow(scope) {
      const { owners, uids, appData } = parseScope('upstream.unfollow', scope);
      await tasks.write([
        ...owners.map((owner) => drop('owner', { key: requireAddress('owner', owner) })),
        ...uids.map(requireUid).flatMap((key) => [drop('order', { key }), drop('ended', { key })]),
        ...appData.map((hash) => drop('appData', { key: parseHash(hash) })),
      ]);
    },
    async refresh(target) {
      const uid = parseUid(target);
      if (uid !== undefined) await refresh(book, [uid]);
      else await makeDue(book, 'owner', [requireAddress('owner', target)], NEW_OWNER);
      follower.wake();
    },
    order: (uid) => describeOrder(book, uid),
    async owner(address) {
      const [task] = await tasks.get('owner', [requireAddress('owner', address)]);
      return task && describeImport(task);
    },
    async state() {
      const [orders, owners, relayed, oldest] = await Promise.all([
        tasks.count('order'),
        tasks.count('owner'),
        tasks.count('relay'),
        tasks.due('order', Number.MAX_SAFE_INTEGER, 1),
      ]);
      const now = clock.now();
      const { due = now, value } = oldest[0] ?? {};
      const lag = Math.max(0, now - due);
      const staleness = Math.max(0, now - (value?.readAt ?? due));
      return { upstream: upstream.name, ...upstream.status(), orders, owners, relayed, lag, staleness };
    },
  };

  async function settled(settlements: readonly SettledOrders[], uids: readonly Hex[]): Promise<void> {
    if (uids.length > 0 && isChainFollowed()) {
      await schedule.concern([...new Set(uids.map((uid) => unpackUid(uid).owner))]);
      follower.wake();
    }
    await refreshSettled(book, settlements);
  }

  return {
    settled,
    relay: createRelay(book, cancellations.cancel, relays.wake),
    quotes: createUpstreamQuotes(book),
    methods,
    workers: [relays, follower],
    /** Opens the connection, at each start of the book. */
    open: () =>
      upstream.open({
        clock,
        chainId,
        settlementContract,
        onCall: onCall.notify,
        ...(store.traits.writers === 'many' && { reserve: createReservation(context) }),
      }),
  };
}

/** Returns the state of an order; `undefined` for an order that neither this book nor its tasks have. */
async function describeOrder({ tasks, store, clock }: UpstreamBook, text: string) {
  const uid = requireUid(text);
  const [[relay], [task], [ended], [stored]] = await Promise.all([
    tasks.get('relay', [uid]),
    tasks.get('order', [uid]),
    tasks.get('ended', [uid]),
    store.orders.get([uid]),
  ]);
  if (relay === undefined && task === undefined && stored === undefined) return undefined;
  const { state, sent = 0, reason, code } = relay?.value ?? {};
  return {
    uid,
    ...(state === undefined
      ? {}
      : {
          relay: {
            state,
            sent,
            ...(reason === undefined ? {} : { reason }),
            ...(code === undefined ? {} : { code }),
          },
        }),
    ...(task?.value.readAt === undefined ? {} : { readAt: task.value.readAt }),
    ...(task?.value.status === undefined ? {} : { status: task.value.status }),
    final:
      relay === undefined &&
      task === undefined &&
      stored !== undefined &&
      (isOver(stored, clock.now()) || ended?.value.end === describeEnd(stored)),
  };
}

/** Reads the settled orders whose documents are followed. */
async function refreshSettled(book: UpstreamBook, settlements: readonly SettledOrders[]): Promise<void> {
  const { tasks } = book;
  if (settlements.length === 0 || (await tasks.count('appData')) === 0) return;
  const orders = settlements.flatMap(({ trades, input }) =>
    trades.flatMap(({ orderUid }, i) => {
      const order = decodeSettledOrder(input, i);
      return order === undefined ? [] : { uid: orderUid, appData: order.data.appData };
    }),
  );
  const hashes = [...new Set(orders.map(({ appData }) => appData))];
  const followed = new Set((await tasks.get('appData', hashes)).map(({ key }) => key));
  await refresh(
    book,
    orders.filter(({ appData }) => followed.has(appData)).map(({ uid }) => uid),
  );
}

/** Checks a scope. @throws TypeError if a member is unknown: it would follow nothing. */
function parseScope(method: string, scope: UpstreamScope): Required<UpstreamScope> {
  assertKnownOptions(method, scope, ['owners', 'uids', 'appData']);
  const { owners = [], uids = [], appData = [] } = scope;
  return {
    owners: requireList('owners', owners),
    uids: requireList('uids', uids),
    appData: requireList('appData', appData),
  };
}

function parseHash(text: string): Hex {
  const hash = parseHex(text, 32);
  if (hash !== undefined) return hash;
  throw new OrderBookError('InvalidParameter', 'appData: must be 0x and 64 hex digits', { parameter: 'appData' });
}

/** Creates the reservation of turns among the processes of a store: each takes the next free one. */
function createReservation({ store: { tasks }, clock }: Pick<UpstreamFeatureContext, 'store' | 'clock'>) {
  return async (name: string, interval: number): Promise<number> => {
    for (;;) {
      const [turn] = await tasks.get(TURN, [name]);
      const at = Math.max(clock.now(), (turn?.due ?? 0) + interval);
      // A process whose clock was ahead must not block the others.
      const due = Math.min(at, clock.now() + 60_000);
      const [isOwn] = await tasks.write([
        { kind: TURN, key: name, version: turn?.version ?? 0, to: { due, value: '' } },
      ]);
      if (isOwn === true) return due;
    }
  };
}
