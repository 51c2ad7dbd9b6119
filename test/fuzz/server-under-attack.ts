import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import type { SpawnedServer } from '../integration/server/spawn.ts';
import { spawnServer } from '../integration/server/spawn.ts';
import { ATTACKS, carryOut, complaintOf } from './attacks.ts';
import { randomNumbers } from './mutate.ts';

/** Number of concurrent attacks. */
const AT_ONCE = 16;

export interface Siege {
  readonly attacks: number;
  /** Open files of the server before and after. Undefined if the system does not report them. */
  readonly files: readonly [before: number, after: number] | undefined;
  /** Memory of the server in megabytes before and after. */
  readonly memory: readonly [before: number, after: number] | undefined;
}

/**
 * Attacks the built server in its own process for a duration, with each attack at least once.
 *
 * @throws a description of a wrong response, or of a damaged server.
 */
export async function besiege(milliseconds: number, seed: number): Promise<Siege> {
  const server = await spawnServer(['--db', ':memory:', '--accounts', ':memory:', '--explorer', 'off']);
  try {
    const random = randomNumbers(seed);
    const port = Number(new URL(server.url).port);
    // Memory of code that is loaded on first use is not a leak.
    for (let warm = 0; warm < 200; warm++) await attack(port, warm % ATTACKS.length, random);
    await requireHealthy(server);
    const before = await settled(server);
    const end = performance.now() + milliseconds;
    let attacks = 0;
    const one = async () => {
      while (performance.now() < end || attacks < ATTACKS.length)
        await attack(port, attacks++ % ATTACKS.length, random);
    };
    await Promise.all(Array.from({ length: AT_ONCE }, one));
    await requireHealthy(server);
    const after = await settled(server, before?.files);
    if (before === undefined || after === undefined) return { attacks, files: undefined, memory: undefined };
    return { attacks, files: [before.files, after.files], memory: [before.memory, after.memory] };
  } finally {
    const { code } = await server.end('SIGTERM');
    assert.equal(code, 0, 'it did not end as it should');
  }
}

async function attack(port: number, which: number, random: (below: number) => number): Promise<void> {
  const chosen = ATTACKS[which];
  assert(chosen !== undefined);
  const steps = chosen.steps(random);
  const complaint = complaintOf(chosen, await carryOut(port, steps));
  assert.equal(complaint, undefined, `${chosen.name}: ${JSON.stringify(steps.map(String)).slice(0, 2000)}`);
}

async function requireHealthy({ url }: SpawnedServer): Promise<void> {
  assert.equal((await fetch(`${url}/live`)).status, 200);
  assert.equal((await fetch(`${url}/api/v1/version`)).status, 200);
  const answer = await fetch(`${url}/api/v1/orders/by_uids`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', connection: 'close' },
    body: '[]',
  });
  assert.equal(await answer.text(), '[]');
}

/** Waits a limited time for the server to release the resources of closed connections. */
async function settled({ process: child }: SpawnedServer, files = Number.POSITIVE_INFINITY) {
  const place = `/proc/${child.pid}`;
  const held = () => {
    try {
      const memory = Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`${place}/status`, 'utf8'))?.[1]) / 1024;
      return { files: readdirSync(`${place}/fd`).length, memory: Math.round(memory) };
    } catch {
      return undefined;
    }
  };
  let now = held();
  for (let tries = 0; tries < 100 && now !== undefined; tries++) {
    await new Promise((resolve) => setTimeout(resolve, 50));
    now = held();
    if (now !== undefined && now.files <= files && tries > 10) break;
  }
  return now;
}
