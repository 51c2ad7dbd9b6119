import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { LongSuite } from '../suite.ts';

const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));

/** Orders of one run. Each run has another seed. */
const ORDERS = 1000;

export const suite: LongSuite = {
  description: 'random orders of the sandbox settle within their limits, and no settlement reverts',
  async run({ milliseconds, seed, count }) {
    const end = Date.now() + milliseconds;
    for (let n = 0; n === 0 || Date.now() < end; n++) {
      const env = { ...process.env, TEST_SANDBOX_ORDERS: String(ORDERS), TEST_SEED: String(seed + n) };
      const file = 'test/integration/sandbox/random-orders.matrix.test.ts';
      const args = ['run', '--config', 'test/vitest.config.ts', file, '--testTimeout', '3600000'];
      const child = spawn('vitest', args, { cwd: ROOT, env, stdio: ['ignore', 'pipe', 'pipe'] });
      let output = '';
      for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
      const [code] = await once(child, 'close');
      assert.equal(code, 0, output.slice(-4000));
      count('orders', ORDERS);
    }
  },
};
