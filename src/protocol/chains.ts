import type { Address } from './hex.ts';

/** The contracts of one deployment of the protocol. */
export interface Deployment {
  /** The settlement contract: the `verifyingContract` of every order's domain. */
  readonly settlement: Address;
  /** The contract that owners approve to move the sell token. */
  readonly vaultRelayer: Address;
  /** The contract that places orders for native currency. */
  readonly ethFlow: Address;
}

/** The environments with separate contracts. */
export const ENVIRONMENTS = ['production', 'staging'] as const;
export type Environment = (typeof ENVIRONMENTS)[number];

/** A chain on which the protocol is deployed. */
export interface ChainInfo {
  /** The path segment of the chain in `{base_url}`. */
  readonly segment: string;
  readonly chainId: number;
  readonly wrappedNative: Address;
  /** The native-currency-flow contracts, if the chain has separate ones. */
  readonly ethFlow?: Readonly<Record<Environment, Address>>;
}

const DEPLOYMENTS: Readonly<Record<Environment, Deployment>> = {
  production: {
    settlement: '0x9008d19f58aabd9ed0d60971565aa8510560ab41',
    vaultRelayer: '0xc92e8bdf79f0507f65a392b0ab4667716bfe0110',
    ethFlow: '0xba3cb449bd2b4adddbc894d8697f5170800eadec',
  },
  staging: {
    settlement: '0xf553d092b50bdcbdded1a99af2ca29fbe5e2cb13',
    vaultRelayer: '0xc7242d167563352e2bca4d71c043fbe542db8fb2',
    ethFlow: '0xb37add6ac288bd3825a901cba6ec65a89f31b8cc',
  },
};

/** The contract that runs hooks, the same on every chain. */
export const HOOKS_TRAMPOLINE: Address = '0x60bf78233f48ec42ee3f101b9a05ec7878728006';

/** `settle(address[],uint256[],(…)[],(…)[][3])` (GPv2Settlement.sol). */
export const SETTLE_SELECTOR = '0x13d79a0b';

/** The address that denotes the chain's native currency as a buy token (GPv2Transfer.sol, `BUY_ETH_ADDRESS`). */
export const NATIVE_MARKER: Address = '0xeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee';

export const CHAINS: readonly ChainInfo[] = [
  { segment: 'mainnet', chainId: 1, wrappedNative: '0xc02aaa39b223fe8d0a0e5c4f27ead9083c756cc2' },
  { segment: 'xdai', chainId: 100, wrappedNative: '0xe91d153e0b41518a2ce8dd3d7944fa863463a97d' },
  { segment: 'arbitrum_one', chainId: 42161, wrappedNative: '0x82af49447d8a07e3bd95bd0d56f35241523fbab1' },
  { segment: 'base', chainId: 8453, wrappedNative: '0x4200000000000000000000000000000000000006' },
  { segment: 'avalanche', chainId: 43114, wrappedNative: '0xb31f66aa3c1e785363f0875a1b74e27b85fd66c7' },
  { segment: 'polygon', chainId: 137, wrappedNative: '0x0d500b1d8e8ef31e21c99d1db9a6444d3adf1270' },
  {
    segment: 'lens',
    chainId: 232,
    wrappedNative: '0x6bdc36e20d267ff0dd6097799f82e78907105e2f',
    ethFlow: {
      production: '0x5a5b8ae7a0b4c0eaf453d10dccfba413f07ebdc2',
      staging: '0xfb337f8a725a142f65fb9ff4902d41cc901de222',
    },
  },
  { segment: 'linea', chainId: 59144, wrappedNative: '0xe5d7c2a44ffddf6b295a15c148167daaaf5cf34f' },
  { segment: 'bnb', chainId: 56, wrappedNative: '0xbb4cdb9cbd36b01bd1cbaebf2de08d9173bc095c' },
  { segment: 'plasma', chainId: 9745, wrappedNative: '0x6100e367285b01f48d07953803a2d8dca5d19873' },
  { segment: 'ink', chainId: 57073, wrappedNative: '0x4200000000000000000000000000000000000006' },
  { segment: 'sepolia', chainId: 11155111, wrappedNative: '0xfff9976782d46cc05630d1f6ebab18b2324d6b14' },
];

/** Returns the chain with an id; `undefined` if the protocol is not deployed there. */
export function chainById(chainId: number): ChainInfo | undefined {
  return CHAINS.find((chain) => chain.chainId === chainId);
}

/** Returns the chain with a path segment such as `sepolia`. */
export function chainBySegment(segment: string): ChainInfo | undefined {
  return CHAINS.find((chain) => chain.segment === segment);
}

/** Common names of chains whose path segment differs. */
export const CHAIN_ALIASES: Readonly<Record<string, string>> = {
  ethereum: 'mainnet',
  gnosis: 'xdai',
  arbitrum: 'arbitrum_one',
  avax: 'avalanche',
  matic: 'polygon',
  bsc: 'bnb',
};

/** Returns the chain with a name: its path segment, or an alias such as `gnosis`. */
export function chainByName(name: string): ChainInfo | undefined {
  return chainBySegment(Object.hasOwn(CHAIN_ALIASES, name) ? (CHAIN_ALIASES[name] ?? name) : name);
}

/** Returns the contracts of an environment, with those of the chain if it has separate ones. */
export function deployment(environment: Environment, chain?: ChainInfo): Deployment {
  const common = DEPLOYMENTS[environment];
  return chain?.ethFlow === undefined ? common : { ...common, ethFlow: chain.ethFlow[environment] };
}

/** The price of 10^18 atoms of native currency. */
export const ONE_NATIVE = /* @__PURE__ */ String(10n ** 18n);
