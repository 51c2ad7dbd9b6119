/** The mount of the explorer: the folder above this file. */
const MOUNT = new URL('..', import.meta.url).href;

/** UIDs in one request. */
const UIDS = 128;

/** Time between reads without a stream, and before a failed read is repeated, in milliseconds. */
const INTERVAL = 5000;

/** Error response of the server. */
export class Rejection extends Error {
  constructor(status, body) {
    super(body?.description ?? body?.message ?? `the server responded with status ${status}`);
    this.status = status;
    this.code = body?.errorType;
  }
}

async function post(path, body, signal) {
  const headers = { accept: 'application/json', 'content-type': 'application/json' };
  return (await read(path, signal, { method: 'POST', headers, body: JSON.stringify(body) })).body;
}

async function read(path, signal, request = { headers: { accept: 'application/json' } }) {
  const response = await fetch(MOUNT + path, { signal, ...request }).catch((error) => {
    if (signal?.aborted) throw error;
    throw new Error('The server is not reachable.');
  });
  const body = await response.json().catch(() => signal?.throwIfAborted());
  if (!response.ok) throw new Rejection(response.status, body);
  return { body, link: response.headers.get('link') };
}

const toQuery = (values) => new URLSearchParams(Object.entries(values).filter(([, value]) => value !== undefined));

/** Returns the cursor of the next page from the header `Link`. */
function nextCursor(link) {
  const next = link?.match(/<([^>]*)>;\s*rel="?next"?/)?.[1];
  return next === undefined ? undefined : new URL(next, location.href).searchParams.get('cursor');
}

/** Returns the explorer's data at a path. A missing entry is null. */
export async function readData(path, signal) {
  return (await read(`explorer/data/${path}`, signal)).body;
}

export const searchAll = (text, signal) => readData(`search?${toQuery({ q: text })}`, signal);

/** The folder of the page's files, which is also the scope of its service worker. */
export const FILES = new URL('.', import.meta.url).href;

/**
 * Returns rows of an account's history in all books, and the cursor of the next page if there is one.
 *
 * @param {'orders' | 'trades'} kind
 */
export async function readHistory(account, kind, query, signal) {
  const { body, link } = await read(`accounts/${account}/${kind}?${toQuery(query)}`, signal);
  return { rows: body, next: nextCursor(link) };
}

/** Returns the URL of the complete history of an account as CSV. */
export function historyFile(account, kind) {
  return `${MOUNT}accounts/${account}/${kind}?format=csv`;
}

/** Returns the URL of a trader's activity as CSV. */
export function activityFile(account) {
  return `${MOUNT}affiliate/trader-activity/${account}?format=csv`;
}

const authorize = (token) => ({ accept: 'application/json', authorization: `Bearer ${token}` });

/** Returns dead deliveries, oldest first, for an operator. */
export async function readDeliveries(token, signal) {
  return (await read('restricted/deliveries?state=dead', signal, { headers: authorize(token) })).body;
}

/** Makes a dead delivery pending again, or all of them without a number. */
export async function replayDeliveries(token, seq, signal) {
  const query = seq === undefined ? '' : `?seq=${seq}`;
  await read(`restricted/deliveries/replay${query}`, signal, { method: 'POST', headers: authorize(token) });
}

export async function subscribe(account, subscription) {
  await post(`accounts/${account}/subscriptions`, subscription);
}

/**
 * Creates a client of a book. All requests can be aborted.
 *
 * @param index - Position of the book in the list of the site.
 */
export function openBook({ path, chainId, chain, environment, blockExplorer }, index, hasAccounts) {
  const api = `${path.slice(1)}${path === '' ? '' : '/'}api/v1`;
  const data = (rest, signal) => readData(`${index}/${rest}`, signal);
  return {
    path,
    chain,
    chainId,
    environment,
    blockExplorer,
    /** Absolute URL of the interface. */
    url: MOUNT + api,

    /** Returns the address of a token for its symbol. Other texts are returned in lower case. */
    async resolve(text, isAccount) {
      if (isAccount || text === '' || /^0x/i.test(text)) return text.toLowerCase();
      const found = await searchAll(text, undefined).catch(() => []);
      return found.find((each) => each.type === 'token' && each.path === path)?.id ?? text;
    },

    /** Returns orders, newest first, and the cursor of the next page if there is one. */
    async list(filters, signal) {
      const { body, link } = await read(`${api}/orders?${toQuery(filters)}`, signal);
      return { orders: body, next: nextCursor(link) };
    },

    /** Returns the orders of the given UIDs that the book has. */
    async orders(uids, signal) {
      const found = [];
      for (let i = 0; i < uids.length; i += UIDS) {
        const batch = uids.slice(i, i + UIDS);
        const elements = await post(`${api}/orders/by_uids`, batch, signal);
        found.push(...elements.flatMap(({ order }) => order ?? []));
      }
      return found;
    },

    /** Returns data of the book, such as `overview`. A missing entry, and one without its source, is null. */
    data,
    tokens: (addresses, signal) => data(`tokens?addresses=${addresses.join(',')}`, signal),
    prices: (addresses, signal) => data(`prices?addresses=${addresses.join(',')}`, signal),

    /** Returns the notifications of an account, or undefined if the server does not serve notifications. */
    async notifications(account, signal) {
      if (!hasAccounts) return undefined;
      const { body } = await read(`accounts/${account}/notifications`, signal).catch((error) => {
        if (error.status === 503) return {};
        throw error;
      });
      return body?.filter(({ metadata }) => metadata?.chainId === undefined || metadata.chainId === chainId);
    },

    /** Subscribes to the book's stream of orders, as {@link streamOrders} describes. */
    subscribe: (filters, listeners, signal) =>
      streamOrders(`${MOUNT}${api}/orders/stream?${toQuery(filters)}`, listeners, signal),
  };
}

/**
 * Calls `order` with each new or changed order of the book's stream. Calls `missed` when changes may have been
 * missed, so also after each connection: the stream starts later than the caller's first read. If the book has no
 * stream, calls `missed` every five seconds while the page is visible. Without `order`, calls `missed` for each
 * order. `missed` reads the state again; a read that fails is repeated after five seconds.
 *
 * A hidden page has no stream: over HTTP/1.1, a browser opens six connections to a server for all of its tabs.
 */
function streamOrders(url, { order, missed, state }, signal) {
  let source;
  let connection = 'connecting';
  let reads = 0;
  let timer;
  let retry;
  const connected = (text) => {
    connection = text;
    state(text);
  };
  const read = async () => {
    const number = ++reads;
    clearTimeout(retry);
    const isRead = await missed().then(
      () => true,
      () => false,
    );
    if (number !== reads || signal.aborted) return;
    state(isRead ? connection : 'out of date');
    if (!isRead) retry = setTimeout(read, INTERVAL);
  };
  const open = () => {
    source?.close();
    if (document.visibilityState !== 'visible') return;
    source = new EventSource(url);
    source.addEventListener('order', order ? ({ data: text }) => order(JSON.parse(text)) : read);
    source.addEventListener('withdrawn', read);
    source.addEventListener('gap', read);
    source.addEventListener('open', () => {
      connected('live');
      void read();
    });
    source.addEventListener('error', () => {
      // The browser reconnects after a broken connection, but not after an error response.
      connected(source.readyState === EventSource.CLOSED ? 'every 5 s' : 'reconnecting');
      if (source.readyState !== EventSource.CLOSED || timer !== undefined) return;
      document.removeEventListener('visibilitychange', open);
      timer = setInterval(() => document.visibilityState === 'visible' && read(), INTERVAL);
    });
  };
  open();
  document.addEventListener('visibilitychange', open, { signal });
  signal.addEventListener('abort', () => {
    source?.close();
    clearInterval(timer);
    clearTimeout(retry);
  });
}
