import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import type { SpawnedServer } from '../integration/server/spawn.ts';
import { spawnServer } from '../integration/server/spawn.ts';
import { ATTACKS, carryOut, complaintOf } from './attacks.ts';
import { randomNumbers } from './mutate.ts';

/** Attacks that are under way at once. */
const AT_ONCE = 16;

export interface Siege {
  readonly attacks: number;
  /** Open files of the server: before, and when all was over. Undefined where the system does not tell. */
  readonly files: readonly [before: number, after: number] | undefined;
  /** Megabytes of the server, likewise. */
  readonly memory: readonly [before: number, after: number] | undefined;
}

/**
 * Attacks the built server in a process of its own until the time is over, each attack once at least.
 *
 * @throws what is wrong with an answer, or with the server afterwards.
 */
export async function besiege(milliseconds: number, seed: number): Promise<Siege> {
  const server = await spawnServer(['--db', ':memory:', '--accounts', ':memory:', '--explorer', 'off']);
  try {
    const random = randomNumbers(seed);
    const port = Number(new URL(server.url).port);
    // What is loaded when it is first used is no leak.
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

/** What it holds once it has let go of what it had for those who have left: it is given time for that, not for more. */
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
