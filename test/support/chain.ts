import type {
  Address,
  ChainCall,
  ChainClient,
  ContractSignatureQuery,
  ContractSignatureResult,
  Funds,
  FundsQuery,
  Simulation,
  SimulationQuery,
  TokenInfo,
  VaultFundsQuery,
} from 'intentbook';

/** Scripted response of a chain method: a value, an error, a promise that stays pending, or a function. */
type Line<Query, Answer> = Answer | Error | 'silence' | ((query: Query, call: ChainCall) => Answer | Promise<Answer>);

/** A method without a script is missing in the chain client. */
export interface ChainScript {
  readonly balanceAndAllowance?: Line<FundsQuery, Funds | undefined>;
  readonly vaultFunds?: Line<VaultFundsQuery, Funds>;
  readonly isValidSignature?: Line<ContractSignatureQuery, ContractSignatureResult>;
  readonly simulate?: Line<SimulationQuery, Simulation>;
  readonly tokenInfo?: Line<Address, TokenInfo | undefined>;
}

/** A recorded call. */
export interface RecordedCall {
  readonly question: keyof ChainClient;
  readonly query: FundsQuery & ContractSignatureQuery & SimulationQuery & Address;
  readonly signal: AbortSignal;
}

/** A chain client with scripted responses that records its calls. */
export function scriptedChain(script: ChainScript): ChainClient & { readonly recordedCalls: readonly RecordedCall[] } {
  const recordedCalls: RecordedCall[] = [];
  function play(question: keyof ChainScript) {
    const line = script[question];
    if (line === undefined) return {};
    return {
      [question]: async (query: never, call: ChainCall) => {
        recordedCalls.push({ question, query, signal: call.signal });
        if (line === 'silence') return new Promise(() => {});
        if (line instanceof Error) throw line;
        return typeof line === 'function' ? line(query, call) : line;
      },
    };
  }
  return {
    recordedCalls,
    ...play('balanceAndAllowance'),
    ...play('vaultFunds'),
    ...play('isValidSignature'),
    ...play('simulate'),
    ...play('tokenInfo'),
  };
}

/** Funds of an owner with unlimited balance and allowance. */
export const FUNDED: Funds = { balance: 2n ** 255n, allowance: 2n ** 255n };
