export type { ViemSimulatorOptions } from './bundle-simulator.ts';
export { viemSimulator } from './bundle-simulator.ts';
export type { ViemChainOptions } from './chain-client.ts';
export { viemChain } from './chain-client.ts';
export type { ViemSourceOptions } from './chain-source.ts';
export { viemSource } from './chain-source.ts';
export type { RpcClient } from './rpc.ts';
export type { SanctionsOracleOptions } from './sanctions.ts';
export { sanctionsOracle } from './sanctions.ts';
