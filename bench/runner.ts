import type { ChildProcess } from 'node:child_process';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Benchmark, Round, Sample, Scale, Subject } from './benchmark.ts';

/** Number of rounds that are run and not counted, for compilers and caches. */
const WARM_UP = 3;
const ROUNDS = 15;

/** Samples of a benchmark. */
export interface BenchmarkRun {
  readonly rounds: readonly Round[];
  /** Notes of the subjects. */
  readonly notes: Readonly<Record<string, string>>;
}

export interface RunOptions {
  /** Runs all subjects in this process: fast, but only a functional check. */
  readonly together?: boolean;
  readonly tick: (done: number, all: number) => void;
}

/**
 * Runs the subjects of a benchmark. Each has its own process. Rounds are interleaved, and each begins with another
 * subject, so that other activity of the machine affects all subjects equally.
 */
export async function runBenchmark(
  name: string,
  benchmark: Benchmark,
  scale: Scale,
  { together = false, tick }: RunOptions,
): Promise<BenchmarkRun> {
  const counted = scale.tiny ? 1 : (benchmark.rounds ?? ROUNDS);
  const all = counted + (scale.tiny ? 0 : WARM_UP);
  const runners: Runner[] = [];
  const rounds: Round[] = [];
  try {
    for (const [subject, prepare] of Object.entries(benchmark.subjects)) {
      runners.push(together ? { name: subject, ...(await prepare()) } : await start(name, subject, scale));
    }
    for (let i = 0; i < all; i++) {
      tick(i, all);
      const round: Record<string, Sample> = {};
      for (const [j] of runners.entries()) {
        const next = runners[(i + j) % runners.length];
        if (next !== undefined) round[next.name] = await next.round();
      }
      if (i >= all - counted) rounds.push(round);
    }
    tick(all, all);
  } finally {
    for (const runner of runners) await runner.close?.();
  }
  const notes = runners.flatMap(({ name: subject, note }) => (note === undefined ? [] : [[subject, note]]));
  return { rounds, notes: Object.fromEntries(notes) };
}

interface Runner extends Subject {
  readonly name: string;
}

async function start(benchmark: string, subject: string, scale: Scale): Promise<Runner> {
  const file = fileURLToPath(new URL('./worker.js', import.meta.url));
  const args = [benchmark, subject, JSON.stringify(scale)];
  const child = fork(file, args, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  const { note } = (await receive(child, `${benchmark}, ${subject}`)) as { note?: string }; // see worker.ts
  return {
    name: subject,
    ...(note === undefined ? {} : { note }),
    round() {
      child.send('round');
      return receive(child, `${benchmark}, ${subject}`) as Promise<Sample>; // see worker.ts
    },
    async close() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const exited = once(child, 'exit');
      child.send('end');
      await exited;
    },
  };
}

function receive(child: ChildProcess, name: string): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(new Error(`the process of ${name} has ended`));
    child.once('exit', stop);
    child.once('message', (message) => {
      child.off('exit', stop);
      resolve(message);
    });
  });
}
