import { parseArgs, styleText } from 'node:util';
import { CHAINS, chainBySegment, defined, formatUnknownName } from '#internal';
import { describeSandbox } from './describe.ts';
import { FRONT_ENDS, formatFrontEndEnv } from './front-end-env.ts';
import { stopIdleNodes } from './node-chain.ts';
import { createSandbox } from './sandbox.ts';
import type { Sandbox, SandboxOptions } from './sandbox-types.ts';

/** Output and signals of a process. `process` is one. */
export interface CommandHost {
  readonly stdout: { write(text: string): unknown; readonly isTTY?: boolean };
  readonly stderr: { write(text: string): unknown };
  exitCode?: number | string | null | undefined;
  on(signal: 'SIGINT' | 'SIGTERM', listener: () => void): unknown;
  exit(code: number): never;
}

const FLAGS = {
  chain: { type: 'string' },
  simulated: { type: 'boolean' },
  fork: { type: 'string' },
  port: { type: 'string' },
  'rpc-port': { type: 'string' },
  host: { type: 'string' },
  'block-time': { type: 'string' },
  tokens: { type: 'string' },
  solver: { type: 'string' },
  seed: { type: 'string' },
  state: { type: 'string' },
  env: { type: 'string' },
  json: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
} as const;

const HELP = `intentbook sandbox: start a local chain, an order book and a solver that settles orders

Starts anvil with the production contracts at their canonical addresses, tokens with liquidity, an order book with its
explorer, and a solver. Needs no network. Stops with SIGINT (Ctrl-C) or SIGTERM.

Usage
  intentbook sandbox [flags]

Flags
  --chain <name or id>     chain to simulate. Default: sepolia, so that clients work without configuration
  --simulated              keep balances in a table instead of running a node. Needs no other package; no JSON-RPC
  --fork <URL>             continue the chain of a node, with its contracts, tokens and pools; --chain must name it
  --port <number>          port of the order book; 0 picks a free one. Default: 8080
  --rpc-port <number>      port of the JSON-RPC interface; 0 picks a free one. Default: 8545
  --host <address>         address to listen on. Default: 127.0.0.1
  --block-time <seconds>   time between blocks. Default: 0, a block for each transaction
  --tokens <symbols>       tokens besides wrapped native currency. Default: USDC,DAI,COW; with --fork the common ones
  --solver <mode>          auto: settles orders as soon as possible; manual: settles on POST /sandbox/settle;
                           off: does not settle. Default: auto
  --seed <number>          seed of the keys of the accounts. Default: the keys of Foundry and Hardhat
  --state <file>           keep everything in a file: it is read at the start, if it exists, and written at the end.
                           Default: everything is kept in memory
  --env <front end>        print the variables of cowswap or cow-explorer as an .env file, and keep running
  --json                   print one JSON object instead of text, and keep running

Packages
  In a project   npm install --save-dev intentbook @foundry-rs/anvil@1.7.1 @cowprotocol/contracts@1.8.0 \\
                   @uniswap/v2-core@1.0.1 @uniswap/v2-periphery@1.1.0-beta.0
  Without one    npx -p intentbook -p @foundry-rs/anvil@1.7.1 -p @cowprotocol/contracts@1.8.0 \\
                   -p @uniswap/v2-core@1.0.1 -p @uniswap/v2-periphery@1.1.0-beta.0 intentbook sandbox

Examples
  intentbook sandbox
  intentbook sandbox --chain mainnet --block-time 12
  intentbook sandbox --chain mainnet --fork https://rpc.example.org
  intentbook sandbox --state world.bin
  intentbook sandbox --port 0 --rpc-port 0 --json
`;

/** Exit codes. */
const FAILED = 1;
const MISUSED = 2;

/**
 * Milliseconds after the first signal in which another one counts as its echo. At Ctrl-C the terminal signals every
 * foreground process, and `npx` forwards its signal.
 */
const ECHO = 500;

/**
 * Runs `intentbook sandbox` until a signal ends it.
 *
 * @param args - Arguments after the name of the command.
 */
export async function runSandboxCommand(args: readonly string[], host: CommandHost = process): Promise<void> {
  const fail = (code: number, error: unknown): never => {
    const { name, message } = error instanceof Error ? error : new Error(String(error));
    if (args.includes('--json')) {
      const kind = code === MISUSED ? 'UsageError' : name;
      host.stdout.write(`${JSON.stringify({ ok: false, error: { code: kind, message } })}\n`);
    } else host.stderr.write(`intentbook: ${message}\n`);
    return host.exit(code);
  };
  let flags: ReturnType<typeof readFlags>;
  try {
    flags = readFlags(args);
  } catch (error) {
    return fail(MISUSED, error);
  }
  if (flags.help) {
    host.stdout.write(HELP);
    return;
  }
  const started = performance.now();
  let sandbox: Sandbox | undefined;
  let stoppedAt: number | undefined;
  const stop = () => {
    if (stoppedAt !== undefined) {
      if (performance.now() - stoppedAt >= ECHO) host.exit(FAILED);
      return;
    }
    stoppedAt = performance.now();
    // The node of a sandbox that is starting ends with this process.
    if (sandbox === undefined) return host.exit(0);
    closeAll(sandbox).then(
      () => host.exit(0),
      (error: unknown) => fail(FAILED, error),
    );
  };
  // Before the start: a container ignores the signals that its first process does not handle.
  host.on('SIGINT', stop);
  host.on('SIGTERM', stop);
  sandbox = await createSandbox(flags.options).catch((error: unknown) => fail(FAILED, error));
  const ready = banner(sandbox, performance.now() - started, host);
  if (flags.env !== undefined) {
    host.stdout.write(formatFrontEndEnv(flags.env, sandbox));
    host.stderr.write(ready); // standard output is often written to a file
  } else host.stdout.write(flags.json ? `${JSON.stringify(describeSandbox(sandbox))}\n` : ready);
}

async function closeAll(sandbox: Sandbox): Promise<void> {
  await sandbox.close();
  await stopIdleNodes();
}

/** @throws TypeError with all flags that are unknown, repeated or malformed. */
function readFlags(args: readonly string[]) {
  const { tokens: parts, values } = parseArgs({ args: [...args], options: FLAGS, strict: false, tokens: true });
  const problems: string[] = [];
  const given = new Set<string>();
  let isAfterUnknown = false;
  for (const token of parts) {
    // An argument after an unknown flag may be its value.
    if (token.kind === 'positional' && !isAfterUnknown) problems.push(`argument "${token.value}" is not known`);
    isAfterUnknown = token.kind === 'option' && !Object.hasOwn(FLAGS, token.name);
    if (token.kind !== 'option') continue;
    if (isAfterUnknown) {
      const known = Object.keys(FLAGS).map((name) => `--${name}`);
      problems.push(formatUnknownName('flag', token.rawName, known));
      continue;
    }
    const isText = FLAGS[token.name as keyof typeof FLAGS].type === 'string'; // a known name
    if (!isText && token.value !== undefined) problems.push(`${token.rawName} must not have a value`);
    if (isText && token.value === undefined) problems.push(`${token.rawName} must have a value`);
    if (given.has(token.name)) problems.push(`${token.rawName} must be given once`);
    given.add(token.name);
  }
  const text = (name: keyof typeof FLAGS) => (typeof values[name] === 'string' ? values[name] : undefined);
  const read = <T>(name: keyof typeof FLAGS, parse: (text: string) => T | undefined, expected: string) => {
    const given = text(name);
    const value = given === undefined ? undefined : parse(given);
    if (given !== undefined && value === undefined) problems.push(`--${name} must be ${expected}, got "${given}"`);
    return value;
  };
  const integer = (name: keyof typeof FLAGS, most: number) => {
    const parse = (each: string) => (/^\d{1,16}$/.test(each) && Number(each) <= most ? Number(each) : undefined);
    return read(name, parse, `an integer from 0 to ${most}`);
  };
  const member = <T extends string>(name: keyof typeof FLAGS, members: readonly T[]) =>
    read(name, (each) => members.find((member) => member === each), `one of ${members.join(', ')}`);
  const chains = `a chain id or one of ${CHAINS.map(({ segment }) => segment).join(', ')}`;
  // The option `chain` of `createSandbox` has this value.
  const expectedChain = text('chain') === 'simulated' ? 'replaced by --simulated' : chains;
  const tokens = text('tokens')
    ?.split(',')
    .filter((symbol) => symbol !== '');
  const seed = integer('seed', Number.MAX_SAFE_INTEGER);
  const rpcPort = integer('rpc-port', 65_535);
  const options: SandboxOptions = {
    chainId: read('chain', parseChain, expectedChain) ?? parseChain('sepolia') ?? 0,
    ...(values['simulated'] === true ? { chain: 'simulated' as const } : { rpcPort: rpcPort ?? 8545 }),
    port: integer('port', 65_535) ?? 8080,
    host: text('host') ?? '127.0.0.1',
    blockTime: integer('block-time', 3600) ?? 0,
    solver: member('solver', ['auto', 'manual', 'off']) ?? 'auto',
    ...defined({ fork: text('fork'), seed, state: text('state'), tokens }),
  };
  const env = member('env', FRONT_ENDS);
  if (env !== undefined && values.json === true) problems.push('--env and --json exclude each other');
  // A front end reads balances from the node.
  if (env !== undefined && options.chain === 'simulated') problems.push('--env must not be given with --simulated');
  if (rpcPort !== undefined && options.chain === 'simulated') {
    problems.push('--rpc-port must not be given with --simulated, which has no JSON-RPC');
  }
  if (problems.length > 0) {
    throw new TypeError(
      problems.length === 1 ? problems[0] : [`${problems.length} problems:`, ...problems].join('\n  '),
    );
  }
  return { options, env, json: values.json === true, help: values.help === true };
}

function parseChain(text: string): number | undefined {
  const chainId = chainBySegment(text)?.chainId ?? Number(text);
  return Number.isSafeInteger(chainId) && chainId > 0 ? chainId : undefined;
}

function banner(sandbox: Sandbox, ms: number, { stdout }: CommandHost): string {
  const { url, rpcUrl, docsUrl, chainId, settlementContract, vaultRelayer, accounts, tokens } = sandbox;
  const paint = (style: 'bold' | 'cyan' | 'dim', text: string) =>
    stdout.isTTY === true ? styleText(style, text) : text;
  const row = (label: string, text: string) => `  ${label.padEnd(16)}${text}`;
  const link = (label: string, text: string) => row(label, paint('cyan', text));
  const [account] = accounts;
  const chain = CHAINS.find((each) => each.chainId === chainId)?.segment;
  return [
    paint('bold', `intentbook sandbox, ready in ${Math.round(ms)} ms`),
    '',
    link('Order book', url),
    ...(rpcUrl === undefined ? [row('Chain', 'simulated, without a node')] : [link('JSON-RPC', rpcUrl)]),
    link('Explorer', `${url}/`),
    ...(docsUrl === undefined ? [] : [link('API reference', docsUrl)]),
    row('Chain id', `${chainId}${chain === undefined ? '' : ` (${chain})`}`),
    row('Settlement', settlementContract),
    row('Vault relayer', vaultRelayer),
    '',
    paint('bold', 'Accounts, with 10000 of native currency and of each token'),
    ...accounts.map(({ address, privateKey }, i) => row(`(${i})`, `${address}  ${paint('dim', privateKey)}`)),
    '',
    paint('bold', 'Tokens'),
    ...tokens.map(({ symbol, address, decimals }) => row(symbol, `${address}  ${decimals} decimals`)),
    '',
    paint('bold', 'Next steps'),
    row('Orders', `curl ${url}/api/v1/orders`),
    row('Notifications', `curl ${url}/accounts/${account?.address ?? '<account>'}/notifications`),
    row('Controls', `curl -X POST ${url}/sandbox/mine`),
    row('SDK', `new OrderBookApi({ chainId: ${chainId}, baseUrls: { [${chainId}]: '${url}' } })`),
    row('Stop', 'Ctrl-C'),
    '',
    '',
  ].join('\n');
}
