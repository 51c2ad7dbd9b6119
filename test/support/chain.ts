import type {
  Address,
  ChainCall,
  ChainClient,
  ContractSignatureAnswer,
  ContractSignatureQuery,
  Funds,
  FundsQuery,
  Simulation,
  SimulationQuery,
  TokenInfo,
} from 'intentbook';

/** What a scripted chain says to a question: a value, a failure, never anything, or what a function makes of it. */
type Line<Query, Answer> = Answer | Error | 'silence' | ((query: Query, call: ChainCall) => Answer | Promise<Answer>);

/** A question without a line is one that the chain does not have. */
export interface ChainScript {
  readonly balanceAndAllowance?: Line<FundsQuery, Funds>;
  readonly isValidSignature?: Line<ContractSignatureQuery, ContractSignatureAnswer>;
  readonly simulate?: Line<SimulationQuery, Simulation>;
  readonly tokenInfo?: Line<Address, TokenInfo | undefined>;
}

/** A question as it was asked. */
export interface Asked {
  readonly question: keyof ChainClient;
  readonly query: FundsQuery & ContractSignatureQuery & SimulationQuery & Address;
  readonly signal: AbortSignal;
}

/** A chain that answers by a script, and remembers what it was asked. */
export function scriptedChain(script: ChainScript): ChainClient & { readonly asked: readonly Asked[] } {
  const asked: Asked[] = [];
  function play(question: keyof ChainScript) {
    const line = script[question];
    if (line === undefined) return {};
    return {
      [question]: async (query: never, call: ChainCall) => {
        asked.push({ question, query, signal: call.signal });
        if (line === 'silence') return new Promise(() => {});
        if (line instanceof Error) throw line;
        return typeof line === 'function' ? line(query, call) : line;
      },
    };
  }
  return {
    asked,
    ...play('balanceAndAllowance'),
    ...play('isValidSignature'),
    ...play('simulate'),
    ...play('tokenInfo'),
  };
}

/** An owner who has everything and has allowed everything. */
export const RICH: Funds = { balance: 2n ** 255n, allowance: 2n ** 255n };
