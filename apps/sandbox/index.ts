export type { SandboxAccount } from './chain.ts';
export { type CommandHost, runSandboxCommand } from './command.ts';
export type { FaultPoint } from './faults.ts';
export { stopIdleNodes } from './node-chain.ts';
export { MissingPackage } from './peers.ts';
export { createSandbox } from './sandbox.ts';
export type {
  Sandbox,
  SandboxOptions,
  SandboxPolicy,
  SandboxQuote,
  SandboxQuoteOptions,
  TokenAmounts,
} from './sandbox-types.ts';
export type { SettleOptions } from './solving.ts';
export type { SandboxToken, TokenOption } from './tokens.ts';
export type { LimitTerms, NativeSale, PlaceOrderOptions, Scheme, TokenAmount, Trader } from './trader.ts';
