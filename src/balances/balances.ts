import { DeadlineError, withDeadline } from '../concurrency/deadline.ts';
import { OrderBookError } from '../errors.ts';
import type { ChainCall, ChainClient, Funds, FundsQuery, TokenInfo } from '../ports/chain-client.ts';
import type { Clock } from '../ports/clock.ts';
import { NATIVE_MARKER } from '../protocol/chains.ts';
import type { Address } from '../protocol/hex.ts';
import { parseHex } from '../protocol/hex.ts';

/** What an account has of a token. */
export interface TokenBalance {
  /** Atoms, as decimal text. */
  readonly balance: string;
  /** Atoms that the vault relayer may move, as decimal text. */
  readonly allowance: string;
  readonly token: { readonly address: Address } & TokenInfo;
}

/** A signal that ends the asking when nobody waits for the answer any more. */
export interface BalanceCallOptions {
  /** Aborted when nobody waits for the answer any more. The call rejects with its reason. */
  readonly signal?: AbortSignal;
}

/** What the chain of a book says of accounts and tokens. */
export interface BalanceApi {
  /** Whether the book has a chain that can be asked for balances. Without one every verb rejects with `ChainUnavailable`. */
  readonly available: boolean;
  /**
   * What an account has of tokens, each once, in their order. What is no token is left out; `0xeeee…ee` is native
   * currency. Rejects with `InvalidParameter` for what is no address, and with `ChainUnavailable` when the chain has not
   * answered for all of them.
   */
  get(account: string, tokens: readonly string[], options?: BalanceCallOptions): Promise<TokenBalance[]>;
  /**
   * What owners have and have allowed of tokens, for each pair in the order of the list, asked a hundred at a time. Rejects
   * with `ChainUnavailable` when the chain has not answered for all of them.
   */
  funds(pairs: readonly FundsPair[], options?: BalanceCallOptions): Promise<Funds[]>;
  /** What a token says of itself; `undefined` when it is none, or when nobody can be asked. Rejects as `get`. */
  token(token: string, options?: BalanceCallOptions): Promise<TokenInfo | undefined>;
}

/** Whose funds, and of which token. */
export type FundsPair = Omit<FundsQuery, 'spender'>;

export interface BalancesContext {
  readonly chain: ChainClient | undefined;
  readonly vaultRelayer: Address;
  readonly clock: Clock;
  /** Milliseconds that the chain has to answer. */
  readonly deadline: number;
  readonly onFailure: (failure: unknown) => void;
}

/** Tokens that are remembered; the one that was learnt first is forgotten first. */
const MAX_TOKENS = 10_000;

/** Pairs that one question names: as many as a chain must be able to answer. */
const PAIRS = 100;

/** Native currency has 18 decimals on every chain of the protocol. */
const NATIVE: TokenInfo = { decimals: 18 };

export function createBalances({ chain, vaultRelayer, clock, deadline, onFailure }: BalancesContext): BalanceApi {
  const known = new Map<Address, TokenInfo>();

  async function infoOf(token: Address, call: ChainCall): Promise<TokenInfo | undefined> {
    if (token === NATIVE_MARKER) return NATIVE;
    const remembered = known.get(token);
    if (remembered !== undefined || chain?.tokenInfo === undefined) return remembered;
    const info = tidy(await chain.tokenInfo(token, call));
    if (info === undefined) return undefined;
    known.set(token, info);
    const [oldest] = known.keys();
    if (known.size > MAX_TOKENS && oldest !== undefined) known.delete(oldest);
    return info;
  }

  async function balanceOf(owner: Address, token: Address, call: ChainCall): Promise<TokenBalance[]> {
    const info = await infoOf(token, call);
    // Where nobody tells whether it is a token, it is asked for as one.
    if (info === undefined && chain?.tokenInfo !== undefined) return [];
    const funds = await chain?.balanceAndAllowance?.({ owner, token, spender: vaultRelayer }, call);
    const { balance, allowance } = funds ?? unasked();
    return [{ balance: balance.toString(), allowance: allowance.toString(), token: { address: token, ...info } }];
  }

  async function fundsOf(queries: readonly FundsQuery[], call: ChainCall): Promise<readonly Funds[]> {
    if (chain?.balancesAndAllowances !== undefined) return chain.balancesAndAllowances(queries, call);
    const funds = await Promise.all(queries.map((query) => chain?.balanceAndAllowance?.(query, call)));
    return funds.map((each) => each ?? unasked());
  }

  function unasked(): never {
    throw unavailable('this book has no chain to ask for balances');
  }

  async function asked<T>(question: (call: ChainCall) => Promise<T>, options: BalanceCallOptions = {}): Promise<T> {
    options.signal?.throwIfAborted();
    try {
      return await withDeadline(clock, deadline, (signal) => question({ signal }), options.signal);
    } catch (failure) {
      if (options.signal?.aborted || failure instanceof OrderBookError) throw failure;
      onFailure(failure);
      throw unavailable(
        failure instanceof DeadlineError ? 'the chain did not answer in time' : 'the chain did not answer',
      );
    }
  }

  return {
    available: chain?.balanceAndAllowance !== undefined,
    async get(account, tokens, options) {
      const owner = requireAddress('account', account);
      const distinct = [...new Set(tokens.map((token) => requireAddress('tokens', token)))];
      const each = await asked((call) => Promise.all(distinct.map((token) => balanceOf(owner, token, call))), options);
      return each.flat();
    },
    async funds(pairs, options) {
      const found: Funds[] = [];
      for (let i = 0; i < pairs.length; i += PAIRS) {
        const queries = pairs.slice(i, i + PAIRS).map((pair) => ({ ...pair, spender: vaultRelayer }));
        const funds = await asked((call) => fundsOf(queries, call), options);
        if (funds.length !== queries.length) throw unavailable('the chain has not answered for all');
        found.push(...funds);
      }
      return found;
    },
    async token(text, options) {
      const token = requireAddress('token', text);
      return asked((call) => infoOf(token, call), options);
    },
  };
}

/** Keeps what is of the right type: a token may say anything. */
function tidy(info: TokenInfo | undefined): TokenInfo | undefined {
  if (info === undefined) return undefined;
  const { decimals, symbol, name } = info;
  return {
    ...(Number.isInteger(decimals) && Number(decimals) >= 0 && Number(decimals) <= 255 && { decimals }),
    ...(typeof symbol === 'string' && symbol !== '' && { symbol: symbol.slice(0, MAX_TEXT) }),
    ...(typeof name === 'string' && name !== '' && { name: name.slice(0, MAX_TEXT) }),
  } as TokenInfo; // what is there is of its type
}

/** Characters of a name that are kept. */
const MAX_TEXT = 128;

function requireAddress(parameter: string, text: string): Address {
  const address = parseHex(text, 20);
  if (address !== undefined) return address;
  throw new OrderBookError('InvalidParameter', `${parameter}: must be 0x and 40 hex digits`, { parameter });
}

function unavailable(description: string): OrderBookError {
  return new OrderBookError('ChainUnavailable', description);
}
