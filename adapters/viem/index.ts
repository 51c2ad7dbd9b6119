export { type ViemSimulatorOptions, viemSimulator } from './bundle-simulator.ts';
export { type ViemChainOptions, viemChain } from './chain-client.ts';
export { type ViemSourceOptions, viemSource } from './chain-source.ts';
export { viemOrderSimulator } from './order-simulator.ts';
export { viemQuoteVerifier } from './quote-verifier.ts';
export type { RpcClient } from './rpc.ts';
export { type SanctionsOracleOptions, sanctionsOracle } from './sanctions.ts';
export { type UniswapV2PoolsOptions, uniswapV2Pools } from './uniswap-v2-pools.ts';
export { viemVaults } from './vaults.ts';
