export type { Action, ChannelFault, Fault, NodeFault, Operation, Scenario, StoreFault } from './plan/plan.ts';
export type { ShrunkSimulation } from './shrink.ts';
export { shrink } from './shrink.ts';
export type { SimulateOptions, SimulationName, SimulationResult, Violation } from './simulate.ts';
export { simulate } from './simulate.ts';
export type { StorageName } from './storages/storages.ts';
