import type { OrderBook } from 'intentbook';
import { defined, NATIVE_MARKER } from '#internal';
import { commonTokens, type KnownToken } from './known-tokens.ts';

/** A token as the page shows it. Unknown members are absent. */
export interface ShownToken {
  readonly symbol?: string;
  readonly decimals?: number;
  readonly name?: string;
  /** A `data:` URL. */
  readonly logo?: string;
  /** Whether the token is in a list, and not only named by its own contract. */
  readonly listed: boolean;
}

/** Reads tokens of a book. */
export type TokenReader = ReturnType<typeof createTokenReader>;

/** Maximum number of tokens that can be found by their symbol. */
const MAX_SYMBOLS = 2_000;

/** Longest symbol and name to show, in characters. */
const MAX_TEXT = 32;

/**
 * Creates a reader. Tokens of the host are used as they are. Other tokens are described by the chain client, since the
 * same address may be another token on a test chain. Common tokens are used where the chain client has no answer.
 */
export function createTokenReader(
  book: OrderBook,
  given: readonly KnownToken[] = [],
  logos: Readonly<Record<string, string>> = {},
) {
  const own = new Map(given.map((token) => [token.address.toLowerCase(), token]));
  const load = async () => {
    const common = await commonTokens(book.chainId);
    return { common, symbols: new Map([...common, ...own].map(([address, { symbol }]) => [address, symbol])) };
  };
  let loading: ReturnType<typeof load> | undefined;
  function getCommon() {
    loading ??= load();
    return loading;
  }

  async function readOne(address: string): Promise<ShownToken | undefined> {
    const { common, symbols } = await getCommon();
    const token = own.get(address) ?? (address === NATIVE_MARKER ? common.get(address) : undefined);
    if (token !== undefined) return toShown(token, true);
    // Without a chain client, or while the chain is unavailable, the page shows common tokens, or atoms.
    const info = await book.balances.token(address).catch(() => undefined);
    const listed = common.get(address);
    const shown = info === undefined ? listed && toShown(listed, true) : toShown(info, info.symbol === listed?.symbol);
    if (shown?.symbol !== undefined && symbols.size < MAX_SYMBOLS) symbols.set(address, shown.symbol);
    return shown;
  }

  return {
    /** Returns tokens by address, in lower case. Unknown addresses are left out. Never rejects. */
    async read(addresses: readonly string[]): Promise<Record<string, ShownToken>> {
      const found: [string, ShownToken][] = [];
      await Promise.all(
        [...new Set(addresses)].map(async (address) => {
          const token = await readOne(address);
          const logo = logos[address];
          if (token !== undefined) found.push([address, logo === undefined ? token : { ...token, logo }]);
        }),
      );
      return Object.fromEntries(found);
    },
    /**
     * Returns the addresses of tokens whose symbol is `symbol` in any case. Only tokens that were read are searched.
     */
    async find(symbol: string): Promise<string[]> {
      const { symbols } = await getCommon();
      const wanted = symbol.toLowerCase();
      const matches = [...symbols].filter(([, each]) => each.toLowerCase() === wanted).map(([address]) => address);
      return matches.filter((address) => address !== NATIVE_MARKER || matches.length === 1);
    },
  };
}

function toShown({ symbol, name, decimals }: Partial<KnownToken>, listed: boolean): ShownToken {
  return { ...defined({ symbol: cleanText(symbol), name: cleanText(name), decimals }), listed };
}

/** Removes control and direction characters, with which a token could imitate another one. */
function cleanText(text: string | undefined): string | undefined {
  const clean = text?.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '').trim();
  if (clean === undefined || clean === '') return undefined;
  return clean.length <= MAX_TEXT ? clean : `${clean.slice(0, MAX_TEXT - 1)}…`;
}
