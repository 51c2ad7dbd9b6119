import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { spawnProgram } from '../integration/server/spawn.ts';

const CLI = join(import.meta.dirname, '../../dist/cli.js');
/** The memory controller of cgroups, version 1. */
const CONTROLLER = '/sys/fs/cgroup/memory';

function findObstacle(): string | undefined {
  const group = join(CONTROLLER, `intentbook-test-${process.pid}`);
  try {
    mkdirSync(group);
    const isController = existsSync(join(group, 'memory.limit_in_bytes'));
    rmdirSync(group);
    return isController ? undefined : 'there is no memory controller of version 1';
  } catch {
    return 'control groups cannot be created here';
  }
}

const obstacle = findObstacle();
const CHAINS = [1, 8453, 11155111, 100, 42161, 137, 43114, 56, 59144, 232, 9745, 57073];

test.skipIf(obstacle !== undefined).each([
  [1, 96],
  [12, 192],
])(
  `a server with %d books works within %d MiB${obstacle === undefined ? '' : ` (${obstacle})`}`,
  async (books, limit) => {
    const folder = mkdtempSync(join(tmpdir(), 'intentbook-memory-'));
    const group = join(CONTROLLER, `intentbook-test-${process.pid}-${books}`);
    const read = (name: string) => readFileSync(join(group, name), 'utf8');
    mkdirSync(group);
    writeFileSync(join(group, 'memory.limit_in_bytes'), `${limit}M`);
    const config = join(folder, 'intentbook.json');
    const served = CHAINS.slice(0, books).map((chain) => ({
      chain,
      db: join(folder, `${chain}.sqlite`),
      path: `/b${chain}`,
    }));
    writeFileSync(config, JSON.stringify({ port: 0, rateLimit: 'off', books: served }));
    const enter = ['sh', '-c', `echo $$ > ${group}/cgroup.procs; exec "$@"`, 'sh'];
    const server = await spawnProgram([CLI, 'serve', '--config', config], enter);
    try {
      for (let i = 0; i < 200; i++) {
        const url = `${server.url}/b${CHAINS[i % books]}/api/v1/orders`;
        expect((await fetch(`${url}?limit=100`)).status).toBe(200);
        expect((await fetch(url, { method: 'POST', body: '{}' })).status).toBe(415);
      }
      expect((await fetch(`${server.url}/ready?all`)).status).toBe(200);
      expect(read('memory.oom_control')).toMatch(/^oom_kill 0$/m);
      expect(Number(read('memory.max_usage_in_bytes'))).toBeLessThan(limit * 2 ** 20);
    } finally {
      await server.end('SIGTERM');
      rmdirSync(group);
      rmSync(folder, { recursive: true });
    }
  },
);
