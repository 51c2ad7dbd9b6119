import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const CLI = fileURLToPath(new URL('../../../dist/cli.js', import.meta.url));

/** A server in its own process. */
export interface SpawnedServer {
  readonly process: ChildProcess;
  readonly url: string;
  /** Sends a signal and waits for the exit. */
  end(signal: 'SIGKILL' | 'SIGTERM'): Promise<{ code: number | null; signal: string | null }>;
}

/** Starts the built command and waits for its address. */
export async function spawnServer(args: readonly string[]): Promise<SpawnedServer> {
  if (!existsSync(CLI)) throw new Error('the server is not built; run `npm run build` first');
  // Tests send more requests than a normal client.
  return spawnProgram([CLI, 'serve', '--port', '0', '--rate-limit', 'off', ...args]);
}

/**
 * Starts a server program, optionally below another program, and waits for its address.
 *
 * @param runtime - The Node.js that runs it. Default: that of the test.
 */
export async function spawnProgram(
  program: readonly string[],
  under: readonly string[] = [],
  runtime = process.execPath,
): Promise<SpawnedServer> {
  const [command = runtime, ...args] = [...under, runtime, ...program];
  // Variables of the tests are removed, because the server rejects unknown ones.
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('INTENTBOOK_')));
  const child = spawn(command, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
  const gone = once(child, 'exit');
  let output = '';
  const url = await new Promise<string>((resolve, reject) => {
    const listen = (chunk: Buffer) => {
      output += chunk;
      const found = /address +(http:\S+)/.exec(output)?.[1];
      if (found !== undefined) resolve(found);
    };
    child.stdout?.on('data', listen);
    child.stderr?.on('data', listen);
    gone.then(() => reject(new Error(`the server ended before it was ready: ${output}`)));
  });
  return {
    process: child,
    url,
    async end(signal) {
      // A wrapper process ends with the server.
      const pid = /^pid (\d+)$/m.exec(output)?.[1];
      if (pid === undefined) child.kill(signal);
      else process.kill(Number(pid), signal);
      const [code, ended] = await gone;
      return { code, signal: ended };
    },
  };
}
