import { type Debugger, type Profiler, Session } from 'node:inspector/promises';
import { fileURLToPath } from 'node:url';

/** The files of the repository and their functions that were called. */
export interface CalledFiles {
  readonly files: readonly string[];
  readonly functions: number;
}

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** Getters that the test runner adds for exported names. A read of a constant is not a step of a way. */
const EXPORT = /^(\(\) => \{\s*try|function \(\)|get )/;

/** Records the calls of functions by precise coverage of V8, in the thread of the test. */
export async function createCallCoverage() {
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Debugger.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  const sources = new Map<string, string>();

  async function getSource(scriptId: string): Promise<string> {
    const known = sources.get(scriptId);
    if (known !== undefined) return known;
    const { scriptSource }: Debugger.GetScriptSourceReturnType = await session.post('Debugger.getScriptSource', {
      scriptId,
    });
    sources.set(scriptId, scriptSource);
    return scriptSource;
  }

  async function getCalled({ scriptId, functions }: Profiler.ScriptCoverage): Promise<number> {
    const source = await getSource(scriptId);
    const called = functions.filter(({ ranges: [range] }) => {
      if (range === undefined || range.count === 0) return false;
      return !EXPORT.test(source.slice(range.startOffset, range.endOffset));
    });
    return called.length;
  }

  return {
    /** Returns the source files whose functions were called by `work`. */
    async record(work: () => Promise<unknown>): Promise<CalledFiles> {
      await session.post('Profiler.takePreciseCoverage'); // resets the counters
      await work();
      const { result } = await session.post('Profiler.takePreciseCoverage');
      const files: string[] = [];
      let functions = 0;
      for (const script of result) {
        const path = script.url.replace(/^file:\/\//, '').replace(ROOT, '');
        if (!/^(src|adapters|apps)\//.test(path)) continue;
        const called = await getCalled(script);
        functions += called;
        if (called > 0) files.push(path);
      }
      return { files: files.sort(), functions };
    },
    [Symbol.dispose]: () => session.disconnect(),
  };
}
