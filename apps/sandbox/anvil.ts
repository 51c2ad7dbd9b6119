import { type ChildProcess, spawn } from 'node:child_process';
import { lookup } from 'node:dns/promises';
import type { EventEmitter } from 'node:events';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { Hex } from 'intentbook';
import type { SandboxAccount } from './chain.ts';
import { MissingPackage, resolvePeer } from './peers.ts';
import { createRpc } from './rpc.ts';

/** Settings of a node. */
export interface AnvilOptions {
  readonly chainId: number;
  /** Port of the JSON-RPC interface. 0: any free port. */
  readonly port: number;
  /** Address to listen on, or its name. */
  readonly host: string;
  /** Seed of the keys of the accounts. Absent: the mnemonic of Foundry and Hardhat. */
  readonly seed?: number | undefined;
  /** URL of the node whose chain is continued, with its chain id. Absent: a new chain. */
  readonly fork?: string | undefined;
}

/** A running node. */
export type Anvil = Awaited<ReturnType<typeof startAnvil>>;

/**
 * Runs a program until it ends, or until the standard input is closed. That happens when the parent process ends for
 * any reason.
 */
const SUPERVISOR = 'exec 3<&0; "$0" "$@" </dev/null & pid=$!; (cat <&3 >/dev/null; kill $pid) 2>/dev/null & wait $pid';

/**
 * Starts anvil in a separate process. The process does not keep its parent alive, and ends with it.
 *
 * @throws MissingPackage if anvil is not installed.
 */
export async function startAnvil({ chainId, port, host, seed, fork }: AnvilOptions) {
  // The node takes IP addresses only.
  const { address: ip } = await lookup(host);
  const flags = ['--port', String(port), '--host', ip, '--auto-impersonate'];
  const origin = fork === undefined ? ['--chain-id', String(chainId)] : ['--fork-url', fork];
  const keys = seed === undefined ? [] : ['--mnemonic-seed-unsafe', String(seed)];
  const command = [binaryPath(), ...flags, ...origin, ...keys, '--order', 'fifo'];
  const [program = '', ...args] = process.platform === 'win32' ? command : ['/bin/sh', '-c', SUPERVISOR, ...command];
  // Detached, so that a signal of the terminal goes to the parent alone, which closes the book before the node.
  const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'pipe'], detached: true });
  const output = await readStartup(child);
  // The log of requests must be read, or the node would wait for it.
  for (const stream of [child.stdout, child.stderr]) stream.resume();
  for (const stream of [child.stdin, child.stdout, child.stderr]) {
    if ('unref' in stream && typeof stream.unref === 'function') stream.unref();
  }
  child.unref();
  const [, address] = /Listening on (\S+)/.exec(output) ?? [];
  const url = `http://${address}`;
  const rpc = createRpc(url);
  return {
    url,
    rpc,
    /** Accounts with native currency, and their keys. */
    accounts: accountsIn(output),
    async stop(): Promise<void> {
      rpc.close();
      if (child.exitCode !== null || child.signalCode !== null) return;
      const ended = new Promise((resolve) => child.once('exit', resolve));
      child.ref();
      child.stdin.end();
      if (process.platform === 'win32') child.kill();
      await ended;
    },
  };
}

/** Finds the binary of this platform, which is a package that anvil depends on. */
function binaryPath(): string {
  const platform = `${process.platform}-${process.arch === 'x64' ? 'amd64' : process.arch}`;
  const ofAnvil = createRequire(resolvePeer('@foundry-rs/anvil', 'package.json'));
  try {
    const name = process.platform === 'win32' ? 'anvil.exe' : 'anvil';
    return join(dirname(ofAnvil.resolve(`@foundry-rs/anvil-${platform}/package.json`)), 'bin', name);
  } catch (cause) {
    throw new MissingPackage(`@foundry-rs/anvil has no binary for ${platform}`, { cause });
  }
}

/** The members of a child process that are read. */
type Output = Pick<ChildProcess, 'stdout' | 'stderr'> & Pick<EventEmitter, 'once'>;

/** Reads the output of a node until it listens. The log of requests that follows is not kept. */
export function readStartup(child: Output): Promise<string> {
  const streams = [child.stdout, child.stderr];
  return new Promise((resolve, reject) => {
    let output = '';
    const read = (chunk: Buffer) => {
      output += String(chunk);
      if (!output.includes('Listening on')) return;
      for (const stream of streams) stream?.off('data', read);
      resolve(output);
    };
    for (const stream of streams) stream?.on('data', read);
    child.once('error', reject);
    child.once('exit', (code) => {
      const isInUse = output.includes('Address already in use');
      const reason = isInUse ? 'the JSON-RPC port is in use, choose another (rpcPort, --rpc-port)' : output.slice(-500);
      reject(new Error(`anvil exited with code ${code}: ${reason}`));
    });
  });
}

function accountsIn(output: string): readonly SandboxAccount[] {
  const all = (pattern: RegExp) => [...output.matchAll(pattern)].map(([, hex]) => hex as Hex); // by the pattern
  const addresses = all(/^\(\d+\) (0x[0-9a-fA-F]{40})\b/gm);
  const keys = all(/^\(\d+\) (0x[0-9a-f]{64})\b/gm);
  return addresses.flatMap((address, i) => (keys[i] === undefined ? [] : [{ address, privateKey: keys[i] }]));
}
