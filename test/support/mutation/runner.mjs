// A test runner for Stryker that loads the tests once (see vitest-in-process.mjs) and runs those that cover a mutant.
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { configureGlobal } from 'fast-check';
import { createViteServer } from 'vitest/node';
import { clearDatabase, createDatabase, replaceDatabase } from './pglite-database.mjs';

/**
 * Number of runs of a property: failures show early, and hundreds of runs per mutant would only cost time. The seed is
 * fixed.
 */
const MOST_RUNS = 20;
configureGlobal({ numRuns: MOST_RUNS, seed: 1 });

/** Excluded tests: slow ones, those about speed, those that need many runs, and those that load the native addon. */
const LEFT_OUT = [
  'returns a thousand orders of many owners',
  'parses megabytes',
  'accepts any text of either digits alone',
  'accepts any number of orders in process',
  'by_uids response holds many long orders',
  'produces valid protocol keys',
  'equals the result in doubles',
  'uses the compiled library',
  'indexer with random forks and node failures',
  'funding check reports each crossing once',
  'funding check reads a hundred pairs',
  'calls an HTTP solver once for 500',
];
const LEAVE_OUT = new RegExp(`\\btest\\(('(?:${LEFT_OUT.join('|')}))`, 'g');

/** Fast tests: pure functions, and a book on the memory store. */
const FOLDERS = [
  'unit',
  'unit/protocol',
  'unit/orders',
  'unit/quotes',
  'unit/chain',
  'unit/auctions',
  'unit/accounts',
  'unit/streams',
  'unit/concurrency',
  'unit/limits',
  'unit/verification',
  'integration/channels',
  'security',
].map((name) => `test/${name}`);
/** Tests of other folders over the memory store. */
const FILES = [
  'property/admission',
  'integration/http/core',
  'integration/stores/memory',
  'integration/stores/memory-accounts',
  'integration/estimators/constant-product',
  'integration/http/costs',
  'integration/http/limits',
  'integration/prices/usd-prices',
  'integration/simulators/tenderly',
];
/**
 * Excluded tests: those that replace globals would affect all others, other processes and databases are slow, and the
 * comparison with exact fractions needs thousands of runs.
 */
const EXCLUDED = /import \{.*\bvi\b.*\} from 'vitest'|intentbook\/postgres|server\/process|in exact fractions/;

/**
 * Whether only the PostgreSQL store is tested, on PGlite. A mutant that fails may leave a transaction open, so the
 * tests are loaded again with a new database.
 */
const ON_PGLITE = process.env['TEST_MUTATION'] === 'pglite';

/** Tests of the PostgreSQL store that need no server. */
const PGLITE_FILES = [
  'pglite',
  'postgres-batcher',
  'postgres-options',
  'postgres-session',
  'postgres-replica-position',
].map((name) => `test/integration/stores/${name}.test.ts`);

const filesOf = () => (ON_PGLITE ? PGLITE_FILES : inProcessFiles());
const inProcessFiles = () =>
  FOLDERS.flatMap((folder) =>
    readdirSync(folder)
      .filter((name) => name.endsWith('.test.ts'))
      .map((name) => `${folder}/${name}`),
  )
    .concat(FILES.map((name) => `test/${name}.test.ts`))
    .filter((file) => !EXCLUDED.test(readFileSync(file, 'utf8')));

/**
 * Processor time for the tests of a mutant, in microseconds. A mutant that lives longer has survived, whatever slower
 * tests would find.
 */
const BUDGET = ON_PGLITE ? 3_000_000 : 1_000_000;

/** Milliseconds by which a test is deferred for each earlier one of its own file. */
const CROWDED = 10;

/** File with the test durations of the first worker for the other workers. */
const DURATIONS = 'test-durations.json';

/** Milliseconds, beyond eight times its usual duration, after which a test counts as hanging. */
const TIMEOUT = 2000;

/** Global object of instrumented code with the active mutant and the coverage. */
const NAMESPACE = '__stryker__';

class InProcessRunner {
  constructor() {
    globalThis[NAMESPACE] ??= {};
    this.stryker = globalThis[NAMESPACE];
    /** Number of mutants of a file that a test has killed. */
    this.kills = new Map();
  }

  /**
   * Code that runs while modules are loaded does not run again for a mutant. Mutants that only this code reaches are
   * excluded (`ignoreStatic`); mutants that are also reached later are tested by that alone. A separate process for
   * each would take ten seconds.
   */
  capabilities() {
    return { reloadEnvironment: true };
  }

  async init() {
    const standIn = fileURLToPath(new URL('vitest-in-process.mjs', import.meta.url));
    this.server = await createViteServer({
      root: process.cwd(),
      configFile: false,
      logLevel: 'error',
      appType: 'custom',
      server: { middlewareMode: true, watch: null, hmr: false, ws: false },
      optimizeDeps: { noDiscovery: true },
      // Node.js 20 has no disposal by `using`.
      oxc: { target: 'node20' },
      resolve: { tsconfigPaths: true, alias: { vitest: standIn, '#internal': resolve('src/internal.ts') } },
      ssr: { external: true, noExternal: ['vitest'] },
      plugins: [
        {
          // Each test book loads its own backend, which takes longer than most tests.
          name: 'one-library',
          enforce: 'pre',
          transform: (code, id) =>
            id.endsWith('/src/crypto/wasm.ts')
              ? code.replace('await instantiateSecp256k1()', 'await (globalThis.secp256k1 ??= instantiateSecp256k1())')
              : undefined,
        },
        {
          name: 'fewer-runs',
          enforce: 'pre',
          transform: (code, id) =>
            /\.test\.ts(\?|$)/.test(id)
              ? code
                  .replace('PGlite.create()', 'globalThis.createDatabase()')
                  .replace(/numRuns: ([\w.]+)/g, `numRuns: Math.min($1, ${MOST_RUNS})`)
                  .replace(LEAVE_OUT, 'test.skip($1') // in mutants only, for the reasons given with LEFT_OUT
              : undefined,
        },
      ],
    });
    globalThis.createDatabase = createDatabase;
    this.harness = await this.server.ssrLoadModule(standIn);
    await this.#collect('');
  }

  /** Loads all tests. A version loads the test files again, but not what they import. */
  async #collect(version) {
    this.tests = [];
    for (const file of filesOf()) {
      this.tests.push(...(await this.harness.collect(file, (path) => this.server.ssrLoadModule(`/${path}${version}`))));
    }
  }

  /** Empties the database, or replaces it if that takes too long. */
  async #renewDatabase(mutatedFile) {
    const late = new Promise((resolve) => setTimeout(resolve, TIMEOUT, 'late'));
    const cleared = await Promise.race([clearDatabase(mutatedFile).catch(() => 'late'), late]);
    if (cleared === 'late') await replaceDatabase();
    this.version = (this.version ?? 0) + 1;
    await this.#collect(`?${this.version}`);
  }

  async dispose() {
    await this.server?.close();
  }

  async dryRun() {
    const { stryker } = this;
    stryker.activeMutant = undefined;
    const results = [];
    for (const test of this.tests) {
      stryker.currentTestId = test.id;
      results.push(await this.#run(test));
      stryker.currentTestId = undefined;
    }
    const took = results.map(({ id, timeSpentMs }) => [id, timeSpentMs]);
    writeFileSync(DURATIONS, JSON.stringify(took));
    return { status: 'complete', tests: results, mutantCoverage: stryker.mutantCoverage };
  }

  async mutantRun({ activeMutant, testFilter, hitLimit, disableBail }) {
    const { stryker } = this;
    const chosen = this.tests.filter(({ id }) => testFilter?.includes(id) ?? true);
    this.took ??= new Map(existsSync(DURATIONS) ? JSON.parse(readFileSync(DURATIONS, 'utf8')) : []);
    const order = this.#order(chosen, activeMutant.fileName);
    const since = process.cpuUsage();
    Object.assign(stryker, { activeMutant: activeMutant.id, hitCount: 0, hitLimit });
    const killedBy = [];
    let failureMessage = '';
    let nrOfTests = 0;
    let hasFailed = false;
    try {
      for (const test of order) {
        const { user, system } = process.cpuUsage(since);
        if (user + system > BUDGET) break;
        nrOfTests++;
        const result = await this.#run(test);
        hasFailed ||= result.status === 1;
        if (hitLimit !== undefined && stryker.hitCount > hitLimit)
          return { status: 'timeout', reason: 'too many hits' };
        if (result.status !== 1) continue;
        if (result.late) return { status: 'timeout', reason: result.failureMessage };
        killedBy.push(test.id);
        this.#credit(activeMutant.fileName, test.id);
        failureMessage ||= result.failureMessage;
        if (!disableBail) break;
      }
    } finally {
      Object.assign(stryker, { activeMutant: undefined, hitLimit: undefined });
      if (ON_PGLITE && hasFailed) await this.#renewDatabase(activeMutant.fileName);
    }
    if (killedBy.length === 0) return { status: 'survived', nrOfTests };
    return { status: 'killed', killedBy, failureMessage, nrOfTests };
  }

  /**
   * Sorts the tests of the mutant's own folder first, then fast tests, tests from many files, and tests that killed
   * mutants of this file before: hundreds of similar tests would use up the time.
   */
  #order(tests, fileName) {
    const [, kind, path] = /(src|adapters|apps)\/(.*)\//.exec(fileName) ?? [];
    const folder = `test/${kind === 'src' ? 'unit' : 'integration'}/${path}/`;
    const kills = this.kills.get(fileName);
    const byTime = tests.map((test) => ({ test, took: this.took.get(test.id) ?? 0 })).sort((a, b) => a.took - b.took);
    const seen = new Map();
    const ranked = byTime.map(({ test, took }) => {
      const place = seen.get(test.file) ?? 0;
      seen.set(test.file, place + 1);
      const rank = (took + CROWDED * place) / (1 + 4 * (kills?.get(test.id) ?? 0));
      return { test, rank: test.file.startsWith(folder) ? rank - 1e6 : rank };
    });
    return ranked.sort((a, b) => a.rank - b.rank).map(({ test }) => test);
  }

  #credit(fileName, id) {
    const kills = this.kills.get(fileName) ?? new Map();
    this.kills.set(fileName, kills.set(id, (kills.get(id) ?? 0) + 1));
  }

  async #run(test) {
    const { id, name } = test;
    const since = performance.now();
    const base = { id, name, fileName: test.file };
    let timer;
    const late = Symbol('late');
    try {
      const timeout = new Promise((_, reject) => {
        timer = setTimeout(reject, this.took === undefined ? 60_000 : TIMEOUT + 8 * (this.took.get(id) ?? 0), late);
      });
      await Promise.race([this.harness.run(test), timeout]);
      return { ...base, status: 0, timeSpentMs: performance.now() - since };
    } catch (error) {
      const isLate = error === late;
      const failureMessage = isLate ? 'it does not end' : String(error?.stack ?? error);
      return { ...base, status: 1, failureMessage, late: isLate, timeSpentMs: performance.now() - since };
    } finally {
      clearTimeout(timer);
    }
  }
}

export const strykerPlugins = [{ kind: 'TestRunner', name: 'in-process', injectableClass: InProcessRunner }];
