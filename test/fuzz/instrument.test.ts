import { expect, test } from 'vitest';
import { Finding, fuzz } from './fuzzer.ts';
import { instrument } from './instrument.ts';
import type { Target } from './target.ts';

/** Throws at a word that a random input hits with a probability of one in 2^48. */
const PLANTED = `
  export function read(bytes: Uint8Array): string {
    ${[...'fraud!'].map((letter, i) => `if (bytes[${i}] !== ${letter.charCodeAt(0)}) return 'rejected at ${i}';`).join('\n')}
    throw new Error('planted');
  }
`;

const load = async (code: string): Promise<(bytes: Uint8Array) => unknown> =>
  (await import(`data:text/javascript,${encodeURIComponent(code)}`)).read;

const targetOf = (run: Target['run']): Target => ({ name: 'planted', run, words: ['x'], seeds: ['seed'] });
const bounded = { corpus: [], seed: 1, milliseconds: 120_000, executions: 100_000 };

test('fuzzer finds an input byte by byte with branch counts', async () => {
  const target = targetOf(await load(instrument(PLANTED, 'planted.ts')));
  const finding = await fuzz({ target, ...bounded, executions: 2_000_000 }).catch((error: unknown) => error);
  expect(finding).toBeInstanceOf(Finding);
  expect(new TextDecoder().decode((finding as Finding).input)).toMatch(/^fraud!/);
});

test('fuzzer does not find that input without branch counts', async () => {
  const target = targetOf(await load(PLANTED.replace(': Uint8Array): string', ')')));
  const { executions, branches } = await fuzz({ target, ...bounded });
  expect({ executions, branches }).toEqual({ executions: bounded.executions, branches: 0 });
});

test.each([
  [
    'a result that varies',
    (() => {
      let n = 0;
      return () => n++;
    })(),
  ],
  [
    'a failure',
    () => {
      throw new TypeError('failure');
    },
  ],
  [
    'a result that takes too long',
    () => {
      const since = process.cpuUsage();
      // To read the usage takes the system five times as long as the process.
      while (process.cpuUsage(since).user < 400_000) [...'x'.repeat(100_000)].reverse();
    },
  ],
])('fuzzer reports %s as a finding', async (_, run) => {
  await expect(fuzz({ target: targetOf(run), ...bounded })).rejects.toThrow(Finding);
});

test('instrumentation counts every branch and changes nothing else', async () => {
  const source = `
    const pick = (n: number, fallback = n > 5 ? 'large' : 'small') => ((n === 0 && 'zero') || (n === 1 ? undefined : null)) ?? fallback;
    export function read(given: Uint8Array) {
      const said: unknown[] = [];
      for (let i = 0; i < 8; i++) said.push(pick(i));
      for (const each of given) switch (each) { case 1: said.push('one'); break; default: said.push('other'); }
      let n = 0;
      while (n < 3) n++;
      try { if (n === 3) throw new Error('three'); } catch (error) { said.push(String(error)); }
      return said;
    }`;
  const { outputText } = (await import('typescript')).default.transpileModule(source, {
    compilerOptions: { target: 99, module: 99 },
  });
  const [plain, counted] = [await load(outputText), await load(instrument(source, 'every.ts'))];
  const input = Uint8Array.of(1, 2, 1);
  expect(counted(input)).toEqual(plain(input));
});
