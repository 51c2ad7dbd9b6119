export type { TenderlyOptions } from './tenderly.ts';
export { tenderlySimulator } from './tenderly.ts';
