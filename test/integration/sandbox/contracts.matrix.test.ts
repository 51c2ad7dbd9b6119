import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

it('has the bytecode that the contracts of the sandbox compile to', async () => {
  const script = fileURLToPath(new URL('../../../apps/sandbox/contracts/compile.mjs', import.meta.url));
  const { stderr } = await promisify(execFile)(process.execPath, [script, '--check']);
  expect(stderr).toBe('');
});
