import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The published command line program. */
export const CLI = fileURLToPath(new URL('../../../dist/cli.js', import.meta.url));

const running = new Set<ChildProcess>();
const directories: string[] = [];

/** Creates a directory that `cleanUp` removes. */
export async function scratch(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'intentbook-test-'));
  directories.push(directory);
  return directory;
}

/** Ends the processes of a test. */
export async function cleanUp(): Promise<void> {
  for (const child of running) {
    child.kill('SIGKILL');
    await once(child, 'exit');
  }
  for (const directory of directories.splice(0)) await rm(directory, { recursive: true, force: true });
}

/** Exit of a process. */
export interface Ending {
  readonly code: number | null;
  readonly signal: string | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Spawned {
  readonly child: ChildProcess;
  readonly ended: Promise<Ending>;
  /** Waits for a match in the output. Rejects if the process exits before. */
  printed(pattern: RegExp): Promise<RegExpExecArray>;
}

/** Runs a program without the variables of the test environment. */
export function run(
  file: string,
  args: readonly string[],
  { env = {}, cwd }: { env?: Record<string, string>; cwd?: string } = {},
): Spawned {
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('INTENTBOOK_'));
  const child = spawn(file, args, {
    env: { ...Object.fromEntries(inherited), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    ...(cwd !== undefined && { cwd }),
  });
  running.add(child);
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const ended = new Promise<Ending>((resolve) => {
    child.once('close', (code, signal) => {
      running.delete(child);
      resolve({ code, signal, stdout, stderr });
    });
  });
  const printed = (pattern: RegExp) =>
    new Promise<RegExpExecArray>((resolve, reject) => {
      const look = () => {
        const match = pattern.exec(stdout);
        if (match === null) return;
        child.stdout.off('data', look);
        resolve(match);
      };
      child.stdout.on('data', look);
      void ended.then(() => reject(new Error(`it ended before it printed ${pattern}: ${stdout}${stderr}`)));
      look();
    });
  return { child, ended, printed };
}

/** Runs the command line program. */
export function intentbook(args: readonly string[], options?: { env?: Record<string, string>; cwd?: string }): Spawned {
  if (!existsSync(CLI)) throw new Error('the server is tested as it is built: run "npm run build" first');
  return run(process.execPath, [CLI, ...args], options);
}

/** Returns the URL that a server prints when it is ready. */
export async function addressOf(server: Spawned): Promise<string> {
  const [, url] = await server.printed(/address\s+(http:\S+)/);
  return url ?? '';
}
