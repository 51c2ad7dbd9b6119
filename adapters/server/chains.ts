/** The chains that a server can be started for, by the path segment of the contract. */
export const CHAIN_IDS: Readonly<Record<string, number>> = {
  mainnet: 1,
  xdai: 100,
  arbitrum_one: 42161,
  base: 8453,
  avalanche: 43114,
  polygon: 137,
  lens: 232,
  linea: 59144,
  bnb: 56,
  plasma: 9745,
  ink: 57073,
  sepolia: 11155111,
};

export const CHAIN_NAMES: readonly string[] = Object.keys(CHAIN_IDS);
