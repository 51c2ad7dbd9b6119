import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Container } from './container.ts';

/** Root folder of the package, where programs can import it by its name. */
const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/**
 * Runs a module in a new process, as a user's program, and returns the JSON that it prints.
 *
 * @param code - The module. `input` is in its scope.
 * @param container - Limits of the process. Default: none.
 */
export async function runProgram<T>(code: string, input: unknown, container?: Container): Promise<T> {
  const text = `const input = ${JSON.stringify(input)};\n${code}`;
  const args = [process.execPath, '--expose-gc', '--input-type=module', '-e', text];
  const joins = (container?.members ?? []).map((file) => `echo $$ > ${file} && `).join('');
  const { stdout } = await promisify(execFile)('sh', ['-c', `${joins}exec "$@"`, 'sh', ...args], { cwd: ROOT });
  return JSON.parse(stdout) as T;
}
