// The process of one subject: prepares it, then does a round whenever it is told to.
import type { Scale } from './benchmark.ts';
import { loadTrial } from './benchmarks.ts';

const [, , name = '', subjectName = '', scale = '{}'] = process.argv;

const trial = await loadTrial(name, JSON.parse(scale) as Scale);
const prepare = trial.subjects[subjectName]; // from the process that has started this one
if (prepare === undefined) throw new Error(`the trial ${name} has no subject "${subjectName}"`);
const subject = await prepare();
process.on('message', (wanted) => {
  void answer(wanted === 'round').catch((error: unknown) => {
    console.error(error);
    process.exit(1);
  });
});
process.send?.({ note: subject.note });

async function answer(again: boolean): Promise<void> {
  if (again) {
    process.send?.(await subject.round());
    return;
  }
  await subject.close?.();
  process.exit(0);
}
