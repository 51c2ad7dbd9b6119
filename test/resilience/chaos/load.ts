import type { Hex } from 'intentbook';
import { account, SEPOLIA_DOMAIN, signCancellation, signOrder } from '../../support/orders.ts';
import { createClient } from '../soak/client.ts';

/** Milliseconds between two requests of a book, and between two attempts to connect a stream. */
const PAUSE = 400;

/** A book of the server. */
export interface LoadedBook {
  readonly path: string;
  readonly chainId: number;
}

/** Clients that submit and cancel orders and read streams, whatever happens to the server. */
export interface ChaosLoad {
  /** Number of responses by kind: `acknowledged`, `failed`, `broken`, `events`. */
  readonly counts: Readonly<Record<string, number>>;
  /** Submits one order to each book. Returns the paths of the books that have not accepted theirs. */
  submitEach(): Promise<string[]>;
  /** Compares each acknowledged order and cancellation with the server. Returns the differences. */
  verify(): Promise<string[]>;
  stop(): Promise<void>;
}

/** Starts a client and a stream for each book. */
export function startLoad(url: string, books: readonly LoadedBook[]): ChaosLoad {
  const client = createClient(url);
  const counts: Record<string, number> = {};
  const count = (kind: string) => {
    counts[kind] = (counts[kind] ?? 0) + 1;
  };
  /** Acknowledged orders by book, with the status that they must have. Without one, it is not known. */
  const known = new Map<string, Map<Hex, 'open' | 'cancelled' | undefined>>(books.map(({ path }) => [path, new Map()]));
  const stopped = new AbortController();
  let orders = 0;
  // A clock that is ahead by an hour accepts them.
  const validTo = Math.floor(Date.now() / 1000) + 86_400;

  async function submit({ path, chainId }: LoadedBook): Promise<Hex | undefined> {
    const domain = { ...SEPOLIA_DOMAIN, chainId };
    const by = account(99_000 + chainId);
    const order = await signOrder(by, { validTo, sellAmount: String(10n ** 18n + BigInt(++orders)) }, { domain });
    const response = await client.send('POST', `${path}/api/v1/orders`, order);
    if (response === 'broken') count('broken');
    else count(response.status === 201 ? 'acknowledged' : 'failed');
    if (response === 'broken' || response.status !== 201) return undefined;
    const uid = response.body as Hex; // a UID
    known.get(path)?.set(uid, 'open');
    return uid;
  }

  async function cancel({ path, chainId }: LoadedBook, uid: Hex): Promise<void> {
    const domain = { ...SEPOLIA_DOMAIN, chainId };
    const orderUids = [uid];
    const signed = await signCancellation(account(99_000 + chainId), { orderUids }, { domain });
    const response = await client.send('DELETE', `${path}/api/v1/orders`, { orderUids, ...signed });
    known.get(path)?.set(uid, response !== 'broken' && response.status === 200 ? 'cancelled' : undefined);
  }

  async function run(book: LoadedBook): Promise<void> {
    for (let i = 0; !stopped.signal.aborted; i++) {
      const uid = await submit(book);
      if (uid !== undefined && i % 4 === 0) await cancel(book, uid);
      await pause();
    }
  }

  async function follow({ path }: LoadedBook): Promise<void> {
    while (!stopped.signal.aborted) {
      try {
        const { body } = await fetch(`${url}${path}/api/v1/orders/stream`, { signal: stopped.signal });
        for await (const _ of body ?? []) count('events');
      } catch {
        // The server has ended or has no descriptor: the stream is opened again.
      }
      await pause();
    }
  }

  const pause = () => new Promise((resolve) => setTimeout(resolve, PAUSE));
  const running = books.flatMap((book) => [run(book), follow(book)]);

  async function verifyBook(path: string, expected: ReadonlyMap<Hex, string | undefined>): Promise<string[]> {
    const problems: string[] = [];
    const uids = [...expected.keys()];
    for (let i = 0; i < uids.length; i += 128) {
      const some = uids.slice(i, i + 128);
      const response = await client.send('POST', `${path}/api/v1/orders/by_uids`, some);
      if (response === 'broken' || response.status !== 200) return [`${path}: by_uids fails`];
      const found = response.body as { order?: { uid: Hex; status: string } }[]; // as documented
      const statuses = new Map(found.flatMap(({ order }) => (order === undefined ? [] : [[order.uid, order.status]])));
      for (const uid of some) {
        const [is, should] = [statuses.get(uid), expected.get(uid)];
        if (is === undefined) problems.push(`${path}: acknowledged order ${uid} is lost`);
        // A cancellation may have been acknowledged in the meantime.
        else if (should === 'cancelled' && is !== should) problems.push(`${path}: cancelled order ${uid} is ${is}`);
      }
    }
    return problems;
  }

  return {
    counts,
    async submitEach() {
      const accepted = await Promise.all(books.map(submit));
      return books.flatMap(({ path }, i) => (accepted[i] === undefined ? [path] : []));
    },
    verify: async () => (await Promise.all([...known].map(([path, each]) => verifyBook(path, new Map(each))))).flat(),
    async stop() {
      stopped.abort();
      await Promise.all(running);
      client.close();
    },
  };
}
