// Process of one subject: prepares it, then runs a round for each message `round`.
import type { Scale } from './benchmark.ts';
import { loadBenchmark } from './benchmarks.ts';

const [, , name = '', subjectName = '', scale = '{}'] = process.argv;
const benchmark = await loadBenchmark(name, JSON.parse(scale) as Scale); // written by runner.ts
const prepare = benchmark.subjects[subjectName];
if (prepare === undefined) throw new Error(`the benchmark ${name} has no subject "${subjectName}"`);
const subject = await prepare();
process.on('message', (message) => {
  void handle(message === 'round').catch((error: unknown) => {
    console.error(error);
    process.exit(1);
  });
});
process.send?.({ note: subject.note });

async function handle(isRound: boolean): Promise<void> {
  if (isRound) {
    process.send?.(await subject.round());
    return;
  }
  await subject.close?.();
  process.exit(0);
}
