import { createRequire } from 'node:module';
import type { Abi, Hex } from 'viem';

const require = createRequire(import.meta.url);

/** A compiled contract. */
export interface Contract {
  readonly abi: Abi;
  readonly bytecode: Hex;
  readonly deployedBytecode: Hex;
}

interface Output {
  readonly errors?: readonly { readonly severity: string; readonly formattedMessage: string }[];
  readonly contracts: Readonly<
    Record<string, Readonly<Record<string, { readonly abi: Abi; readonly evm: Readonly<Record<string, Code>> }>>>
  >;
}

interface Code {
  readonly object: string;
}

/** Compiles a source file. @returns its contracts by name. */
export function compileSolidity(source: string): Readonly<Record<string, Contract>> {
  const solc: { compile(input: string): string } = require('solc');
  const outputs = ['abi', 'evm.bytecode.object', 'evm.deployedBytecode.object'];
  const input = {
    language: 'Solidity',
    sources: { 'test.sol': { content: source } },
    settings: { evmVersion: 'paris', outputSelection: { '*': { '*': outputs } } },
  };
  const { errors = [], contracts }: Output = JSON.parse(solc.compile(JSON.stringify(input)));
  const error = errors.find(({ severity }) => severity === 'error');
  if (error !== undefined) throw new Error(error.formattedMessage);
  const entries = Object.entries(contracts['test.sol'] ?? {}).map(([name, { abi, evm }]) => {
    const codeOf = (kind: string): Hex => `0x${evm[kind]?.object ?? ''}`;
    return [name, { abi, bytecode: codeOf('bytecode'), deployedBytecode: codeOf('deployedBytecode') }];
  });
  return Object.fromEntries(entries);
}
