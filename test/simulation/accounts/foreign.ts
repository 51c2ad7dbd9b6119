import type { Address, Announcement, AnnouncementSource, Clock, UsdPriceSource } from 'intentbook';
import type { TokenLookup } from 'intentbook/accounts';
import { createServiceFetch } from '#internal';
import type { SeededRandom } from '../machine/random.ts';

/** What a foreign source does with a call. */
export const FOREIGN_MODES = ['honest', 'fails', 'lies', 'repeats', 'goes back in time', 'one bad item'] as const;
/** The behaviour of a foreign source. */
export type ForeignMode = (typeof FOREIGN_MODES)[number];

/** A token of the simulation, as its contract has it. */
export interface ForeignToken {
  readonly address: Address;
  readonly decimals: number;
  readonly symbol: string;
}

/** Sources of the account interface whose behaviour changes. */
export interface ForeignSources {
  mode: ForeignMode;
  readonly tokens: TokenLookup;
  readonly announcements: AnnouncementSource;
  readonly prices: readonly UsdPriceSource[];
  /** Returns the price that the interface must have returned for the last queries; `undefined` for none. */
  readonly expectedPrice: () => number | undefined;
  /** Returns the announcements that the interface must have listed after the last query. */
  readonly expectedAnnouncements: () => ReadonlyMap<number, { readonly at: number; readonly message: string }>;
  /** Number of requests that the first service of prices has received in the time that it required. */
  readonly requestsInPause: number;
  /** Publishes an announcement. */
  publish(at: number): void;
}

const MALFORMED_ITEMS: readonly unknown[] = [
  null,
  'text',
  { id: '7', at: 0, message: 'a text as id', metadata: {} },
  { id: 3, at: null, message: 'no time', metadata: {} },
  { id: 3, at: 5, message: null, metadata: {} },
  { id: 3, at: 5, message: 'no metadata' },
  { id: -3, at: 5, message: 'a negative id', metadata: {} },
  { id: 3, at: 1e300, message: 'a time beyond all calendars', metadata: {} },
];
const LIES: readonly unknown[] = [Number.NaN, -1, 0, Number.POSITIVE_INFINITY, '3000', null, {}, 1n];

/** Creates the requests to a service that often responds with a status of 429 or 503. */
function createLimitedService(random: SeededRandom, clock: Clock) {
  let [resumesAt, requestsInPause] = [0, 0];
  const send = createServiceFetch(async () => {
    if (clock.now() < resumesAt) requestsInPause++;
    if (random.chance(0.6)) return new Response();
    const seconds = random.integer(0, 100);
    resumesAt = Math.max(resumesAt, clock.now() + seconds * 1000);
    const headers: Record<string, string> = seconds === 0 ? {} : { 'retry-after': String(seconds) };
    return new Response(null, { status: random.pick([429, 503]), headers });
  }, clock);
  return {
    async request(): Promise<void> {
      const { status } = await send('https://prices.example', {});
      if (status !== 200) throw new Error(`the price service responded with status ${status}`);
    },
    get requestsInPause() {
      return requestsInPause;
    },
  };
}

/** Creates the sources. */
export function createForeignSources(
  random: SeededRandom,
  known: readonly ForeignToken[],
  clock: Clock,
): ForeignSources {
  const limits = random.derive('limits');
  const limited = limits.chance(0.3) ? createLimitedService(limits, clock) : undefined;
  const published: Announcement[] = [];
  let listed = new Map<number, { at: number; message: string }>();
  let returned: unknown[] = [];
  const sources: ForeignSources = {
    mode: 'honest',
    tokens(_chainId, address) {
      const token = known.find((each) => each.address === address);
      if (sources.mode === 'fails') throw new Error('the table of tokens is unreachable');
      if (token === undefined) return undefined;
      const { decimals, symbol } = token;
      if (sources.mode !== 'lies') return { decimals, symbol };
      // A value that no token has, and a symbol that is a link or an amount.
      const lie = random.pick([{ decimals: -1 }, { decimals: 1.5 }, { decimals: 300 }, {}, { symbol: 'https://x.y' }]);
      return 'symbol' in lie ? { decimals, ...lie } : { symbol, ...lie };
    },
    async announcements() {
      listed = new Map();
      if (sources.mode === 'fails') throw new Error('the content system is unreachable');
      if (sources.mode === 'lies') return random.pick([null, {}, 'text', 5]) as unknown as Announcement[]; // a fault
      for (const { id, at, message } of published) listed.set(id, { at, message });
      if (sources.mode === 'repeats') return [...published, ...published];
      if (sources.mode === 'one bad item')
        return [...published, random.pick(MALFORMED_ITEMS)] as unknown as Announcement[]; // a fault
      return sources.mode === 'goes back in time' ? [...published].reverse() : published;
    },
    prices: ['first', 'second'].map((name, i) => ({
      name,
      async usdPrice() {
        if (i === 0) returned = [];
        const isFaulty = i === 0 || random.chance(0.3);
        if (isFaulty && sources.mode === 'fails') throw new Error('the price service is unreachable');
        if (i === 0) await limited?.request();
        const price = isFaulty && sources.mode === 'lies' ? random.pick(LIES) : 1 + random.integer(0, 1000) / 7;
        returned.push(price);
        return price as number; // or a lie
      },
    })),
    expectedPrice: () =>
      returned.find((price): price is number => typeof price === 'number' && price > 0 && Number.isFinite(price)),
    expectedAnnouncements: () => listed,
    get requestsInPause() {
      return limited?.requestsInPause ?? 0;
    },
    publish(at) {
      const id = published.length + 1;
      published.push({ id, at, message: `announcement ${id}`, metadata: {} });
    },
  };
  return sources;
}
