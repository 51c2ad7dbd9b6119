export { type TenderlyOptions, tenderlySimulator } from './tenderly.ts';
