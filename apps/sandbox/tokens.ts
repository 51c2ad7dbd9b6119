import type { Address } from 'intentbook';
import { listKnownTokens } from 'intentbook/accounts';
import { chainById, requireInteger } from '#internal';
import { labelledAddress } from './abi.ts';

/** A token of a sandbox. */
export interface SandboxToken {
  readonly symbol: string;
  readonly name: string;
  readonly address: Address;
  readonly decimals: number;
  /** Native currency for one whole token, as a decimal number: the price of its pool at the start. */
  readonly price: string;
}

/** A token to create: a symbol that is known, or a description. */
export type TokenOption =
  | string
  | {
      readonly symbol: string;
      /** Default: the symbol. */
      readonly name?: string;
      /** From 0 to 36. Default: 18. */
      readonly decimals?: number;
      /**
       * Native currency for one whole token, as a decimal number. The token's side of a pool of 10,000 units of native
       * currency must have less than 2^112 atoms. Default: `0.0004`.
       */
      readonly price?: string;
      /** Default: derived from the symbol. */
      readonly address?: string;
    };

/** Tokens that a sandbox has unless it is given others, besides wrapped native currency. */
export const DEFAULT_TOKENS = ['USDC', 'DAI', 'COW'] as const;

/** A known token, and what differs on a chain. */
type KnownToken = Omit<SandboxToken, 'symbol' | 'address'> & {
  readonly chains: Readonly<Record<number, { readonly address: Address } & Partial<SandboxToken>>>;
};

/** Known tokens. Addresses and decimals are those of the real tokens, so that clients that know them work. */
const KNOWN: Readonly<Record<string, KnownToken>> = {
  USDC: {
    name: 'USD Coin',
    decimals: 6,
    price: '0.0004',
    chains: {
      1: { address: '0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48' },
      11155111: { address: '0xbe72e441bf55620febc26715db68d3494213d8cb', decimals: 18, name: 'USDC (test)' },
    },
  },
  DAI: {
    name: 'Dai Stablecoin',
    decimals: 18,
    price: '0.0004',
    chains: {
      1: { address: '0x6b175474e89094c44da98b954eedeac495271d0f' },
      11155111: { address: '0xb4f1737af37711e9a5890d9510c9bb60e170cb0d' },
    },
  },
  COW: {
    name: 'CoW Protocol Token',
    decimals: 18,
    price: '0.0001',
    chains: {
      1: { address: '0xdef1ca1fb7fbcdc777520aa7f396b4e015f497ab' },
      11155111: { address: '0x0625afb445c3b6b7b929342a04a22599fd5dbb59' },
    },
  },
};

/**
 * Creates the list of tokens: wrapped native currency first.
 *
 * @throws TypeError if a token is unknown or malformed.
 */
export function readTokens(chainId: number, options: readonly TokenOption[] = DEFAULT_TOKENS): SandboxToken[] {
  const tokens = [wrappedToken(chainId), ...options.map((option) => readToken(chainId, option))];
  const symbols = new Set(tokens.map(({ symbol }) => symbol));
  if (symbols.size < tokens.length) throw new TypeError('tokens must not contain a symbol twice');
  const addresses = new Set(tokens.map(({ address }) => address));
  if (addresses.size < tokens.length) throw new TypeError('tokens must not contain an address twice');
  return tokens;
}

function wrappedToken(chainId: number): SandboxToken {
  const { wrappedNative = labelledAddress('token WETH') } = chainById(chainId) ?? {};
  const { symbol = 'WETH' } = listKnownTokens(chainId).find(({ address }) => address === wrappedNative) ?? {};
  return {
    symbol,
    name: symbol === 'WETH' ? 'Wrapped Ether' : symbol,
    address: wrappedNative,
    decimals: 18,
    price: '1',
  };
}

function readToken(chainId: number, option: TokenOption): SandboxToken {
  const given = typeof option === 'string' ? { symbol: option } : option;
  if (typeof given !== 'object' || given === null) {
    throw new TypeError(`tokens must be symbols or descriptions, got ${JSON.stringify(given)}`);
  }
  const { symbol } = given;
  if (symbol === 'ETH') throw new TypeError('symbol must not be "ETH", which is native currency');
  const usual = Object.hasOwn(KNOWN, symbol) ? KNOWN[symbol] : undefined;
  const known = usual && { address: undefined, ...usual, ...usual.chains[chainId] };
  if (typeof option === 'string' && known === undefined) {
    throw new TypeError(
      `tokens must be known symbols (${Object.keys(KNOWN).join(', ')}, in capitals) or descriptions, got "${option}"`,
    );
  }
  if (!/^[\x21-\x7e]{1,31}$/.test(symbol)) {
    throw new TypeError(`symbol must be 1 to 31 printable ASCII characters, got ${JSON.stringify(symbol)}`);
  }
  const { name = known?.name ?? symbol, decimals = known?.decimals ?? 18, price = known?.price ?? '0.0004' } = given;
  const { address = known?.address ?? labelledAddress(`token ${symbol}`) } = given;
  requireInteger(`decimals`, decimals, 0, 36);
  if (!/^0x[0-9a-fA-F]{40}$/.test(address))
    throw new TypeError(`address must be 0x and 40 hex digits, got "${address}"`);
  return { symbol, name: name.slice(0, 31), address: address.toLowerCase() as Address, decimals, price };
}
