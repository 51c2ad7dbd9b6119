import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const CLI = fileURLToPath(new URL('../../../dist/cli.js', import.meta.url));

/** A server in a process of its own. */
export interface SpawnedServer {
  readonly process: ChildProcess;
  readonly url: string;
  /** Ends it with a signal and waits until it is gone. */
  end(signal: 'SIGKILL' | 'SIGTERM'): Promise<{ code: number | null; signal: string | null }>;
}

/** Starts the built command and waits until it says where it listens. */
export async function spawnServer(args: readonly string[]): Promise<SpawnedServer> {
  if (!existsSync(CLI)) throw new Error('the server is not built; run `npm run build` first');
  // Those who start it send more than a user would.
  return spawnProgram([CLI, 'serve', '--port', '0', '--rate-limit', 'off', ...args]);
}

/** Starts a program that serves, under another one if need be, and waits until it says where it listens. */
export async function spawnProgram(program: readonly string[], under: readonly string[] = []): Promise<SpawnedServer> {
  const [command = process.execPath, ...args] = [...under, process.execPath, ...program];
  // What is set for the tests is not meant for the server, which rejects what it does not know.
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('INTENTBOOK_')));
  const child = spawn(command, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
  const gone = once(child, 'exit');
  let said = '';
  const url = await new Promise<string>((resolve, reject) => {
    const listen = (chunk: Buffer) => {
      said += chunk;
      const found = /address +(http:\S+)/.exec(said)?.[1];
      if (found !== undefined) resolve(found);
    };
    child.stdout?.on('data', listen);
    child.stderr?.on('data', listen);
    gone.then(() => reject(new Error(`the server ended before it was ready: ${said}`)));
  });
  return {
    process: child,
    url,
    async end(signal) {
      // What stands between us and the server, if anything, ends when the server does.
      const pid = /^pid (\d+)$/m.exec(said)?.[1];
      if (pid === undefined) child.kill(signal);
      else process.kill(Number(pid), signal);
      const [code, ended] = await gone;
      return { code, signal: ended };
    },
  };
}
