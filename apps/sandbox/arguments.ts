import { chainByName, requireChainOption, requireInteger, requireMember } from '#internal';
import type { SandboxOptions } from './sandbox-types.ts';
import type { SandboxToken } from './tokens.ts';

/** Maximum time of a chain, in seconds since 1970: the maximum of `validTo`. */
const MAX_TIME = 2 ** 32 - 1;

/** Maximum time between blocks, in seconds. */
const MAX_BLOCK_TIME = 3_600;

/** @throws TypeError if an option of a sandbox is malformed. */
export function checkOptions(options: SandboxOptions): void {
  const {
    chain = 'anvil',
    chainId = 1,
    tokens = [],
    host = 'localhost',
    port = 0,
    rpcPort = 0,
    blockTime = 0,
  } = options;
  const { solver = 'auto', policy = {}, solverEngine, seed = 0, state = 'state', fork } = options;
  const known = chainByName(chain);
  if (known !== undefined) throw invalid(`the chain "${chain}" is selected by chainId: ${known.chainId}`);
  requireMember('createSandbox: chain', ['anvil', 'simulated'], chain);
  requireMember('createSandbox: solver', ['auto', 'manual', 'off'], solver);
  requireChainOption('createSandbox: chainId', chainId);
  requireInteger('createSandbox: port', port, 0, 65_535);
  requireInteger('createSandbox: rpcPort', rpcPort, 0, 65_535);
  requireInteger('createSandbox: blockTime', blockTime, 0, MAX_BLOCK_TIME);
  requireInteger('createSandbox: seed', seed, 0);
  if (typeof host !== 'string') throw invalid(`host must be a string, got ${format(host)}`);
  if (host === '') throw invalid('host must be an address or the name of one, got ""');
  if (typeof state !== 'string' || state === '') {
    throw invalid(`state must be the name of a file, got ${format(state)}`);
  }
  if (fork !== undefined && (typeof fork !== 'string' || !/^(?:https?|wss?):\/\//.test(fork) || !URL.canParse(fork))) {
    throw invalid(`fork must be the URL of a node, got ${format(fork)}`);
  }
  if (fork !== undefined && (chain === 'simulated' || options.state !== undefined)) {
    throw invalid('fork must not be given together with state or the simulated chain');
  }
  if (chain === 'simulated' && options.rpcPort !== undefined) {
    throw invalid('rpcPort must not be given with the simulated chain, which has no JSON-RPC');
  }
  if (chain === 'simulated' && blockTime > 0) {
    throw invalid('blockTime must not be given with the simulated chain, which has a block for each transaction');
  }
  if (!Array.isArray(tokens)) throw invalid(`tokens must be a list, got ${format(tokens)}`);
  if (typeof policy !== 'object' || policy === null) {
    throw invalid(`policy must be an object, got ${format(policy)}`);
  }
  if (solverEngine !== undefined && typeof solverEngine?.solve !== 'function') {
    throw invalid('solverEngine must be an object with the method solve');
  }
}

function invalid(reason: string): TypeError {
  return new TypeError(`createSandbox: ${reason}`);
}

/**
 * Checks the duration of a time jump.
 *
 * @param now - Time of the sandbox, in milliseconds since 1970.
 * @throws TypeError if the duration is malformed, or if `validTo` cannot express the new time.
 */
export function checkSeconds(seconds: number, now: number): void {
  requireInteger('seconds', seconds, 1, Math.max(1, MAX_TIME - Math.ceil(now / 1000)));
}

/** @throws TypeError if the timeout, in milliseconds, is malformed. */
export function checkTimeout(timeout: number): void {
  if (typeof timeout === 'number' && timeout >= 0) return;
  throw new TypeError(`timeout must be a number of at least 0, got ${format(timeout)}`);
}

/** @throws TypeError if an amount is not a pair of the amount and the symbol of a token. */
export function checkTokenAmount(name: string, amount: unknown): void {
  const [whole, symbol] = Array.isArray(amount) && amount.length === 2 ? amount : [];
  if (whole !== undefined && typeof symbol === 'string' && !/^\d/.test(symbol)) return;
  throw new TypeError(`${name} must be [amount, symbol], such as ["1", "WETH"], got ${JSON.stringify(amount)}`);
}

/** @throws TypeError if amounts are not an object by symbol. */
export function checkAmounts(amounts: unknown): void {
  if (typeof amounts === 'object' && amounts !== null && !Array.isArray(amounts)) return;
  throw new TypeError(`amounts must be an object by symbol, such as { WETH: "1" }, got ${JSON.stringify(amounts)}`);
}

/** @throws TypeError if the validity of an order is malformed. An order of a test may have expired. */
export function checkValidity(validFor: number | undefined): void {
  if (validFor !== undefined) requireInteger('validFor', validFor, -MAX_TIME, MAX_TIME);
}

/** @throws TypeError if the address is malformed. */
export function checkAddress(address: unknown): void {
  if (typeof address === 'string' && /^0x[0-9a-fA-F]{40}$/.test(address)) return;
  throw new TypeError(`account must be 0x and 40 hex digits, got ${format(address)}`);
}

/** @throws TypeError if the token is native currency or its wrapped form: prices are expressed in it. */
export function checkNotNative({ symbol, address }: SandboxToken, wrappedNative: string): void {
  if (symbol !== 'ETH' && address !== wrappedNative) return;
  throw new TypeError(`token must not be native currency or its wrapped form, got "${symbol}"`);
}

/** Formats a value for an error. */
function format(value: unknown): string {
  return typeof value === 'string' ? JSON.stringify(value) : String(value);
}
