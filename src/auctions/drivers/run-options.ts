import { formatSecret } from '../../protocol/format-value.ts';
import { type Address, type Hex, parseHex } from '../../protocol/hex.ts';
import { assertFunctions, assertKnownOptions, requireFunction, requireInteger } from '../../validation/options.ts';
import type { SolverDriver } from './solver-driver.ts';

/** Options of a run of auctions with solvers. */
export interface AuctionRunOptions {
  /** The solvers that compete: at least one, with different names. */
  readonly drivers: readonly SolverDriver[];
  /** Time that solvers have for an auction, in milliseconds. Default: 10000. */
  readonly solveTime?: number;
  /** Time that a solver has to reveal the calldata of a solution, in milliseconds. Default: 2000. */
  readonly revealTime?: number;
  /** Time that the response to a settlement may take, in milliseconds. Default: 120000. */
  readonly settleTime?: number;
  /** Blocks in which a winning solution may be settled. Default: 5. */
  readonly submissionBlocks?: number;
  /** Maximum number of winning solutions of an auction. Default: 20. */
  readonly maxWinners?: number;
  /** Maximum number of solutions of one solver. Default: 3. */
  readonly maxSolutions?: number;
  /**
   * Maximum difference between the prices of two orders of one direction in a solution, before protocol fees, in parts
   * per million. Network fees of orders may differ. A solution above it is dropped. Default: 10000.
   */
  readonly maxPriceSpread?: number;
  /** Whether the calldata of winners is requested and verified before they settle. Default: true. */
  readonly reveal?: boolean;
  /** Tokens that solvers may keep in the settlement contract. Default: none. */
  readonly trustedTokens?: readonly string[];
  /** Milliseconds between two checks for a new auction. Default: 1000. */
  readonly interval?: number;
  /**
   * Consecutive auctions that a driver wins and does not settle, after which it is excluded and notified. Default:
   * `never`.
   */
  readonly banAfter?: number | 'never';
  /** Time for which a driver is excluded, in milliseconds. Default: 300000. */
  readonly banTime?: number;
  /** Called after the winners of an auction are selected. */
  readonly onRound?: (round: AuctionRound) => void;
  /** Called when a settlement has ended. */
  readonly onSettled?: (settlement: DriverSettlement) => void;
}

/** The result of one auction. */
export interface AuctionRound {
  readonly auctionId: number;
  /** The block of the auction. */
  readonly block: number;
  /** The last block in which winners may be settled. */
  readonly deadlineBlock: number;
  /** Version of the rules that have selected the winners. */
  readonly rules: number;
  /** Best first. */
  readonly solutions: readonly RoundSolution[];
  /** Drivers without a valid response, and solutions that were dropped. */
  readonly problems: readonly DriverProblem[];
}

/** A solution of an auction. */
export interface RoundSolution {
  readonly driver: string;
  readonly solutionId: number;
  readonly solver: Address;
  /** Wei. */
  readonly score: bigint;
  readonly isWinner: boolean;
  readonly filteredOut: boolean;
  readonly orders: readonly Hex[];
}

/** A problem of a driver. */
export interface DriverProblem {
  readonly driver: string;
  readonly step: 'solve' | 'reveal' | 'settle' | 'notify';
  readonly reason: string;
}

/** The end of a settlement. */
export interface DriverSettlement {
  readonly auctionId: number;
  readonly driver: string;
  readonly solutionId: number;
  /** The reason for which it has failed. Absent: it is in a block. */
  readonly reason?: string;
}

/** A run of auctions. It ends with `stop`, or when the book is closed. */
export interface AuctionRun {
  /** Looks for a new auction at once. */
  wake(): void;
  /** Ends the current auction and waits for it. Settlements that have begun continue at their solvers. */
  stop(): Promise<void>;
}

export type AuctionRunSettings = Required<Omit<AuctionRunOptions, 'trustedTokens'>> & {
  readonly trustedTokens: readonly Address[];
};

const MAX_BAN_AFTER = 1_000_000;

/** Integer options with their default, minimum and maximum. */
const INTEGERS = {
  solveTime: [10_000, 1, 600_000],
  revealTime: [2000, 1, 600_000],
  settleTime: [120_000, 1, 3_600_000],
  submissionBlocks: [5, 1, 10_000],
  maxWinners: [20, 1, 1000],
  maxSolutions: [3, 1, 1000],
  maxPriceSpread: [10_000, 0, 1_000_000],
  interval: [1000, 1, 3_600_000],
  banTime: [300_000, 1, 86_400_000],
} as const;

const KNOWN = [...Object.keys(INTEGERS), 'drivers', 'reveal', 'trustedTokens', 'banAfter', 'onRound', 'onSettled'];

/** Parses the options of a run. @throws TypeError naming the option that is unknown or malformed. */
export function parseRunOptions(options: AuctionRunOptions): AuctionRunSettings {
  assertKnownOptions('auctions.run', options, KNOWN);
  const { drivers, reveal = true, trustedTokens = [], onRound = () => {}, onSettled = () => {} } = options;
  const { banAfter = 'never' } = options;
  const integer = (name: keyof typeof INTEGERS): number => {
    const [initial, least, most] = INTEGERS[name];
    return requireInteger(`auctions.run: ${name}`, options[name] ?? initial, least, most);
  };
  // The value is not rendered: the URL of a driver may contain a password.
  if (!Array.isArray(drivers)) throw invalid('drivers', 'a list of drivers', formatSecret(drivers));
  for (const driver of drivers) checkDriver(driver);
  const names = new Set(drivers.map(({ name }) => name));
  if (drivers.length === 0 || names.size < drivers.length)
    throw invalid('drivers', 'a list of one or more drivers with different names', [...names].join(', '));
  if (typeof reveal !== 'boolean') throw invalid('reveal', 'a boolean', reveal);
  if (!Array.isArray(trustedTokens)) throw invalid('trustedTokens', 'a list of addresses', trustedTokens);
  for (const [name, listener] of Object.entries({ onRound, onSettled }))
    requireFunction(`auctions.run: ${name}`, listener);
  return {
    drivers,
    reveal,
    trustedTokens: trustedTokens.map(parseToken),
    onRound,
    onSettled,
    solveTime: integer('solveTime'),
    revealTime: integer('revealTime'),
    settleTime: integer('settleTime'),
    submissionBlocks: integer('submissionBlocks'),
    maxWinners: integer('maxWinners'),
    maxSolutions: integer('maxSolutions'),
    maxPriceSpread: integer('maxPriceSpread'),
    interval: integer('interval'),
    banTime: integer('banTime'),
    banAfter: banAfter === 'never' ? banAfter : requireInteger('auctions.run: banAfter', banAfter, 1, MAX_BAN_AFTER),
  };
}

function checkDriver(driver: SolverDriver | undefined): void {
  assertFunctions('auctions.run: each of drivers', driver ?? {}, ['solve', 'settle']);
  const { name, submissionAddress, acceptsDeltas = false } = driver as SolverDriver; // checked
  if (typeof name !== 'string' || name === '') throw invalid('name of a driver', 'a text', name);
  if (submissionAddress !== undefined && parseHex(submissionAddress, 20) === undefined)
    throw invalid('submissionAddress of a driver', '0x and 40 hex digits', submissionAddress);
  if (typeof acceptsDeltas !== 'boolean') throw invalid('acceptsDeltas of a driver', 'a boolean', acceptsDeltas);
}

function parseToken(text: string): Address {
  const token = parseHex(text, 20);
  if (token === undefined) throw invalid('trustedTokens', '0x and 40 hex digits', text);
  return token;
}

function invalid(name: string, expected: string, value: unknown): TypeError {
  return new TypeError(`auctions.run: ${name} must be ${expected}, got ${String(value)}`);
}
