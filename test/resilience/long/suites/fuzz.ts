import { fileURLToPath } from 'node:url';
import { keepInput, readCorpus } from '../../../fuzz/corpus.ts';
import { Finding, fuzz } from '../../../fuzz/fuzzer.ts';
import { TARGETS } from '../../../fuzz/targets/index.ts';
import type { LongSuite } from '../suite.ts';

const COMMITTED = fileURLToPath(new URL('../../../fuzz/corpus', import.meta.url));

/**
 * Runs per target before the remaining time goes to slower targets; a tenth if each run recovers a signature.
 * `TEST_FUZZ_EXECUTIONS=8000000` sets another number.
 */
const ENOUGH = Number(process.env['TEST_FUZZ_EXECUTIONS'] ?? 1_000_000);

/** Targets by name: `TEST_FUZZ=query,cursor`. */
const chosen = process.env['TEST_FUZZ']?.split(',');

export const suite: LongSuite = {
  description: 'no input makes a parser throw, hang or return another result on repetition',
  async run({ milliseconds, seed, folder, count, note }) {
    const end = performance.now() + milliseconds;
    const targets = TARGETS.filter(({ name }) => chosen === undefined || chosen.includes(name));
    const findings: Finding[] = [];
    for (const [i, target] of targets.entries()) {
      const known = [...readCorpus(COMMITTED, target.name), ...readCorpus(folder, target.name)];
      const share = (end - performance.now()) / (targets.length - i);
      try {
        const corpus = known.map(({ bytes }) => bytes);
        const most = target.slow ? ENOUGH / 10 : ENOUGH;
        const given = { target, corpus, seed: seed + i, milliseconds: share, executions: most };
        const { executions, branches, ...found } = await fuzz(given);
        count(target.name, executions);
        note(`branches of ${target.name}`, branches);
        for (const bytes of found.corpus) keepInput(folder, target.name, bytes);
      } catch (error) {
        if (!(error instanceof Finding)) throw error;
        keepInput(folder, target.name, error.input, 'finding');
        findings.push(error);
      }
    }
    if (findings.length > 0) throw new AggregateError(findings, findings.map(({ message }) => message).join('\n'));
  },
};
