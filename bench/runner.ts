import type { ChildProcess } from 'node:child_process';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Round, Sample, Scale, Subject, Trial } from './benchmark.ts';

/** Rounds that are run and not counted, until compilers and caches have settled. */
const WARM_UP = 3;
const ROUNDS = 15;

/** What a trial came to. */
export interface Outcome {
  readonly rounds: readonly Round[];
  /** What the subjects say they used. */
  readonly notes: Readonly<Record<string, string>>;
}

export interface RaceOptions {
  /** All of them in this process: quick, and good for nothing but to see that they work. */
  readonly together?: boolean;
  readonly tick: (done: number, all: number) => void;
}

/**
 * Runs the subjects of a trial against each other. Each has its process; rounds are interleaved, one subject after the
 * other, and begin with another one each time, so that whatever else the machine does meets all of them alike.
 */
export async function race(
  name: string,
  trial: Trial,
  scale: Scale,
  { together = false, tick }: RaceOptions,
): Promise<Outcome> {
  const counted = scale.tiny ? 1 : (trial.rounds ?? ROUNDS);
  const all = counted + (scale.tiny ? 0 : WARM_UP);
  const runners: Runner[] = [];
  const rounds: Round[] = [];
  try {
    for (const [subject, prepare] of Object.entries(trial.subjects)) {
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

async function start(trial: string, subject: string, scale: Scale): Promise<Runner> {
  const file = fileURLToPath(new URL('./worker.js', import.meta.url));
  const child = fork(file, [trial, subject, JSON.stringify(scale)], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  const { note } = (await answerOf(child, `${trial}, ${subject}`)) as { note?: string }; // see subject.ts
  return {
    name: subject,
    ...(note === undefined ? {} : { note }),
    round() {
      child.send('round');
      return answerOf(child, `${trial}, ${subject}`) as Promise<Sample>; // see subject.ts
    },
    async close() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const gone = once(child, 'exit');
      child.send('end');
      await gone;
    },
  };
}

function answerOf(child: ChildProcess, who: string): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(new Error(`the process of ${who} has ended`));
    child.once('exit', stop);
    child.once('message', (message) => {
      child.off('exit', stop);
      resolve(message);
    });
  });
}
