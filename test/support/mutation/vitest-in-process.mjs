// Replacement of vitest for mutants: tests are collected once and called as functions. To start a runner for each of
// three thousand mutants would take a hundred times as long as the tests.
import { chai, GLOBAL_EXPECT, JestAsymmetricMatchers, JestChaiExpect, JestExtend } from '@vitest/expect';

chai.use(JestExtend);
chai.use(JestChaiExpect);
chai.use(JestAsymmetricMatchers);

export const expect = Object.assign((value, message) => chai.expect(value, message), chai.expect, { poll });
globalThis[GLOBAL_EXPECT] = expect;

/** Milliseconds that a polled condition may take, and between two checks. */
const POLLING = { timeout: 1000, interval: 5 };

/** Retries a matcher on a value until it passes. */
function poll(read) {
  const retried =
    (isNegated, matcher) =>
    async (...expected) => {
      for (const end = performance.now() + POLLING.timeout; ; ) {
        try {
          const wanted = expect(await read());
          return (isNegated ? wanted.not : wanted)[matcher](...expected);
        } catch (error) {
          if (performance.now() > end) throw error;
          await new Promise((resolve) => setTimeout(resolve, POLLING.interval));
        }
      }
    };
  const matchers = (isNegated) =>
    new Proxy({}, { get: (_, name) => (name === 'not' ? matchers(!isNegated) : retried(isNegated, name)) });
  return matchers(false);
}

const newSuite = (parent, name) => ({
  parent,
  name,
  beforeEach: [],
  afterEach: [],
  beforeAll: [],
  afterAll: [],
  begun: false,
});
let suite = newSuite(undefined, '');
/** Callbacks for the end of the running test. */
let finished = [];
export const onTestFinished = (hook) => void finished.push(hook);
/** All collected tests. */
const tests = [];
const SKIPPED = Symbol('skipped');

/** Loads a file by `load` and returns its tests. */
export async function collect(file, load) {
  suite = newSuite(undefined, '');
  const before = tests.length;
  await load(file);
  return tests.slice(before).map((each, i) => ({ ...each, id: `${file}#${i}`, name: `${file} ${nameOf(each)}`, file }));
}

/** Runs the hooks at the end of the files of some tests. */
export async function finish(some) {
  const roots = new Set(some.map(({ suite: of }) => rootOf(of)));
  for (const { afterAll: hooks } of roots) for (const hook of hooks) await hook();
}

const rootOf = (of) => (of.parent === undefined ? of : rootOf(of.parent));

const nameOf = ({ suite: of, title }) => (of === undefined || of.name === '' ? title : `${of.name} ${title}`);

/** Runs one test with its hooks. Throws when it fails. */
export async function run({ suite: of, body }) {
  const chain = [];
  for (let each = of; each !== undefined; each = each.parent) chain.unshift(each);
  for (const each of chain) {
    if (each.begun) continue;
    each.begun = true;
    for (const hook of each.beforeAll) await hook();
  }
  for (const each of chain) for (const hook of each.beforeEach) await hook();
  finished = [];
  try {
    await body({
      skip: () => {
        throw SKIPPED;
      },
      task: { meta: {} },
      onTestFinished,
    });
  } catch (error) {
    if (error !== SKIPPED) throw error;
  } finally {
    for (const hook of finished) await hook();
    for (const each of chain.toReversed()) for (const hook of each.afterEach) await hook();
  }
}

const hook = (kind) => (body) => void suite[kind].push(body);
export const beforeEach = hook('beforeEach');
export const afterEach = hook('afterEach');
export const beforeAll = hook('beforeAll');
// Only `finish` runs them: the process ends eventually.
export const afterAll = hook('afterAll');

const bodyOf = (rest) => rest.find((each) => typeof each === 'function');

const createTestFunction =
  () =>
  (title, ...rest) =>
    void tests.push({ suite, title: String(title), body: bodyOf(rest) });
export const test = createTestFunction();
export const it = createTestFunction();
export function describe(title, ...rest) {
  const outer = suite;
  suite = newSuite(outer, outer.name === '' ? String(title) : `${outer.name} ${title}`);
  bodyOf(rest)();
  suite = outer;
}

/** Rows are spread if all of them are arrays, like in vitest. */
const each =
  (define) =>
  (table) =>
  (title, ...rest) => {
    const rows = [...table];
    const spread = rows.every(Array.isArray);
    for (const [i, row] of rows.entries()) {
      const values = spread ? row : [row];
      define(`${title} [${i}]`, () => bodyOf(rest)(...values));
    }
  };
const none = () => {};
for (const define of [test, it, describe]) {
  Object.assign(define, {
    each: each(define),
    skip: Object.assign(none, { each: () => none }),
    skipIf: (skipped) => (skipped ? none : define),
    runIf: (runs) => (runs ? define : none),
  });
}
