export type { ViemChainOptions } from './chain.ts';
export { viemChain } from './chain.ts';
export type { RpcClient } from './rpc.ts';
export type { ViemSourceOptions } from './source.ts';
export { viemSource } from './source.ts';
