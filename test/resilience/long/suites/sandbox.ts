import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { createSandbox } from '../../../../apps/sandbox/index.ts';
import type { LongShare, LongSuite } from '../suite.ts';

/** Starts the loopback device of a new network namespace, and runs the example of the documentation in it. */
const WITHOUT_NETWORK = `ip link set lo up && exec "$0" "$@"`;
const CLI = fileURLToPath(new URL('../../../../dist/cli.js', import.meta.url));

export const suite: LongSuite = {
  description: 'the example of the sandbox settles its order each time, also without a network',
  async run(share) {
    const end = Date.now() + share.milliseconds;
    await runWithoutNetwork(share);
    const durations: number[] = [];
    while (Date.now() < end) durations.push(await runExample(share));
    durations.sort((a, b) => a - b);
    const atShare = (part: number) => `${durations[Math.floor((durations.length - 1) * part)]?.toFixed(0)} ms`;
    share.note('p50 of the example', atShare(0.5));
    share.note('p99 of the example', atShare(0.99));
  },
};

/** Creates a sandbox and runs the example in it. @returns its duration in milliseconds. */
async function runExample({ count }: LongShare): Promise<number> {
  const start = performance.now();
  const sandbox = await createSandbox();
  const trader = await sandbox.createTrader({ WETH: '10' });
  const quote = await sandbox.quote(trader, { sell: ['1', 'WETH'], for: 'USDC' });
  const uid = await trader.placeOrder(quote, { slippageBps: 50 });
  await sandbox.waitFor(uid, 'fulfilled');
  await sandbox.waitForNotification(trader, 'order_filled');
  assert.deepEqual(sandbox.failures, []);
  await sandbox.close();
  count('examples');
  return performance.now() - start;
}

/** Starts the command in a network namespace with the loopback device only, and describes it over HTTP. */
async function runWithoutNetwork({ note, count }: LongShare): Promise<void> {
  const probe = spawnSync('unshare', ['--map-root-user', '--net', 'sh', '-c', 'ip link set lo up']);
  if (probe.status !== 0) {
    note('without a network', 'skipped: unshare or ip is missing, or not permitted');
    return;
  }
  const program = `
    const { spawn } = require('node:child_process');
    const child = spawn(process.execPath, [${JSON.stringify(CLI)}, 'sandbox', '--json', '--port', '0', '--rpc-port', '0']);
    child.stderr.pipe(process.stderr);
    let text = '';
    child.stdout.on('data', async (chunk) => {
      text += chunk;
      if (!text.endsWith('\\n')) return;
      const { url } = JSON.parse(text);
      const response = await fetch(url + '/sandbox');
      console.log(response.status);
      child.kill('SIGTERM');
    });
    child.on('exit', (code) => process.exit(code));`;
  const args = ['--map-root-user', '--net', 'sh', '-c', WITHOUT_NETWORK, process.execPath, '-e', program];
  const { stdout } = await promisify(execFile)('unshare', args, { timeout: 60_000 });
  assert.equal(stdout, '200\n');
  count('starts without a network');
}
