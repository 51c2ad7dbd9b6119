import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/**
 * The features of a book. None imports another: what two of them need is in a layer below. Other parts import only the
 * `index.ts` of a feature.
 */
const FEATURES = [
  'affiliates',
  'app-data',
  'auctions',
  'balances',
  'chain',
  'market',
  'notifications',
  'orders',
  'quotes',
  'upstream',
];

/** Other parts with a front door, of which only the `index.ts` is imported. */
const DOORS = ['accounts', 'event-log', 'limits', 'streams', 'verification'];

/** The layers of src, from the top. A file imports from its own layer or from lower ones, types included. */
const LAYERS: readonly (readonly string[])[] = [
  ['http'],
  ['engine'],
  ['accounts', 'options', 'order-book', 'logger'],
  [...FEATURES],
  ['account-tools', 'admission', 'event-log', 'readiness', 'store-kit', 'streams', 'verification'],
  ['concurrency', 'events', 'limits', 'option-objects', 'records'],
  ['ports', 'validation'],
  ['protocol'],
  ['crypto', 'errors', 'listeners', 'version'],
];

function listFiles(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.d.ts'))
    .map((file) => join(folder, file));
}

/** Returns the relative imports of a file as paths from the root: static, type-only and dynamic ones. */
function readImports(file: string): string[] {
  const source = ts.createSourceFile(file, readFileSync(join(ROOT, file), 'utf8'), ts.ScriptTarget.Latest, true);
  const specifiers: string[] = [];
  const visit = (node: ts.Node): void => {
    if ((ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) && node.moduleSpecifier !== undefined) {
      if (ts.isStringLiteral(node.moduleSpecifier)) specifiers.push(node.moduleSpecifier.text);
    }
    if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) {
      const [argument] = node.arguments;
      if (argument !== undefined && ts.isStringLiteral(argument)) specifiers.push(argument.text);
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return specifiers
    .filter((specifier) => specifier.startsWith('.') && specifier.endsWith('.ts'))
    .map((specifier) => relative(ROOT, resolve(ROOT, dirname(file), specifier)));
}

const GRAPH = new Map(listFiles('src').map((file) => [file, readImports(file)]));

/** Finds one cycle of the graph, as the list of its files. */
function findCycle(graph: ReadonlyMap<string, readonly string[]>): string[] | undefined {
  const done = new Set<string>();
  const path: string[] = [];
  const visit = (file: string): string[] | undefined => {
    if (done.has(file)) return undefined;
    const start = path.indexOf(file);
    if (start >= 0) return [...path.slice(start), file];
    path.push(file);
    for (const next of graph.get(file) ?? []) {
      const cycle = visit(next);
      if (cycle !== undefined) return cycle;
    }
    path.pop();
    done.add(file);
    return undefined;
  };
  for (const file of graph.keys()) {
    const cycle = visit(file);
    if (cycle !== undefined) return cycle;
  }
  return undefined;
}

const getPart = (file: string): string => (file.split('/')[1] ?? '').replace(/\.ts$/, '');
const getLayer = (file: string): number => LAYERS.findIndex((layer) => layer.includes(getPart(file)));
/** Entry points re-export from any layer. */
const ENTRY_POINTS = new Set([
  'src/index.ts',
  'src/internal.ts',
  'src/entries/accounts.ts',
  'src/entries/chain-events.ts',
  'src/store-kit/index.ts',
]);

describe('imports of src', () => {
  it('have no cycle, of types either', () => {
    expect(findCycle(GRAPH)).toBeUndefined();
  });

  it('find a cycle in a graph that has one', () => {
    const graph = new Map([
      ['a', ['b']],
      ['b', ['c']],
      ['c', ['b']],
    ]);
    expect(findCycle(graph)).toEqual(['b', 'c', 'b']);
  });

  it.each([...GRAPH.keys()].filter((file) => !ENTRY_POINTS.has(file)))('%s belongs to a layer', (file) => {
    expect(getLayer(file)).toBeGreaterThanOrEqual(0);
  });

  it('go down the layers', () => {
    const upward = [...GRAPH].flatMap(([file, imports]) =>
      ENTRY_POINTS.has(file)
        ? []
        : imports.filter((to) => getLayer(to) < getLayer(file)).map((to) => `${file} → ${to}`),
    );
    expect(upward).toEqual([]);
  });
});

describe('features', () => {
  const crossings = [...GRAPH].flatMap(([file, imports]) =>
    imports.filter((to) => getPart(to) !== getPart(file)).map((to) => ({ file, to })),
  );
  const show = ({ file, to }: { readonly file: string; readonly to: string }) => `${file} → ${to}`;

  it('import no other feature', () => {
    const isFeature = (file: string) => FEATURES.includes(getPart(file));
    const siblings = crossings.filter(({ file, to }) => isFeature(file) && isFeature(to));
    expect(siblings.map(show)).toEqual([]);
  });

  it('are imported by their index only', () => {
    const doors = new Set([...FEATURES, ...DOORS]);
    const passed = crossings.filter(({ to }) => doors.has(getPart(to)) && !/^src\/[^/]+\/index\.ts$/.test(to));
    expect(passed.map(show)).toEqual([]);
  });

  it('and all parts of src are on at most nine floors', () => {
    const floors = new Map<string, number>();
    const getFloor = (part: string): number => {
      const known = floors.get(part);
      if (known !== undefined) return known;
      floors.set(part, 0); // the layers exclude a cycle of parts
      const below = crossings.filter(({ file }) => getPart(file) === part).map(({ to }) => getFloor(getPart(to)));
      floors.set(part, 1 + Math.max(0, ...below));
      return floors.get(part) ?? 0;
    };
    expect(Math.max(...[...GRAPH.keys()].map((file) => getFloor(getPart(file))))).toBeLessThanOrEqual(9);
  });
});

/** What a simulator could not decide: time, timers, ticks of the event loop and randomness of the machine. */
const AMBIENT =
  /\b(Date\.now|new Date\(\)|performance\.now|hrtime|set(Timeout|Interval|Immediate)|queueMicrotask|process\.nextTick|MessageChannel|AbortSignal\.timeout|Math\.random|getRandomValues|random(UUID|Bytes|Int))\b/;

/** The files that use the machine, and the reason of each. */
const AMBIENT_FILES: Readonly<Record<string, string>> = {
  'src/ports/clock.ts':
    'the clock of the machine, behind the port, and the event loop, which setTickScheduler replaces',
  'src/ports/random.ts': 'the randomness of the machine, behind the port',
  'adapters/sqlite/sqlite-worker.ts': 'the turns of a thread, which simulations do not have',
  'adapters/sqlite/session.ts': 'a token that is compared for equality only',
  'adapters/postgres/open.ts': 'the sender of a notification, which is compared for equality only',
  'adapters/postgres/orders.ts': 'the number of an attempt, which is compared for equality only',
  'adapters/postgres/database-driver.ts': 'the timeout of a socket of the machine',
  'adapters/postgres/query.ts': 'the wait for a connection of a pool, which is a socket of the machine',
  'adapters/postgres/quotes.ts': 'statements of one tick, which a socket of the machine sends',
};

describe('time and randomness of the machine', () => {
  const files = ['src', 'adapters/memory', 'adapters/sqlite', 'adapters/postgres'].flatMap(listFiles);
  const strip = (file: string) =>
    readFileSync(join(ROOT, file), 'utf8').replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, (comment) =>
      comment.replace(/\S/g, ' '),
    );

  it('are used only by the files that have a reason', () => {
    expect(files.filter((file) => AMBIENT.test(strip(file))).sort()).toEqual(Object.keys(AMBIENT_FILES).sort());
  });

  it('are recognised in code', () => {
    expect(
      ['const now = Date.now();', 'setTimeout(run, 5)', 'crypto.randomUUID()'].filter((each) => !AMBIENT.test(each)),
    ).toEqual([]);
  });
});

/** A variable of a module, or a constant that collects something. */
const MODULE_STATE =
  /^(?:export )?(?:let \w+|const \w+(?:: [^=\n]+)? = (?:\/\* @__PURE__ \*\/ )?(?:new (?:Map|Set)(?:<.*>)?\(\)|create[A-Z]\w*\())/m;

/** The files whose modules have a state, and why no book affects another through it. */
const STATE_FILES: Readonly<Record<string, string>> = {
  'src/concurrency/steps.ts': 'a throttle that every tick releases',
  'src/crypto/keccak.ts': 'the implementation of a hash',
  'src/orders/read.ts': 'a number that is compared for equality only',
  'src/ports/clock.ts': 'the event loop, which setTickScheduler replaces',
};

describe('state of modules', () => {
  it('belongs to no book: a place that a hanging call holds would be missing in all', () => {
    const files = ['src', 'adapters/memory'].flatMap(listFiles);
    const found = files.filter((file) => MODULE_STATE.test(readFileSync(join(ROOT, file), 'utf8')));
    expect(found.sort()).toEqual(Object.keys(STATE_FILES).sort());
  });

  it('is recognised in code', () => {
    const examples = [
      'let count = 0;',
      'const limit = /* @__PURE__ */ createConcurrencyLimit(2);',
      'const known = new Map<string, () => void>();',
      'const known: Map<string, number> = new Map();',
    ];
    expect(examples.filter((each) => !MODULE_STATE.test(each))).toEqual([]);
  });
});

/** Returns the public entries of adapters and programs that a file imports: `node-http`. */
function readEntries(file: string): string[] {
  const text = readFileSync(join(ROOT, file), 'utf8');
  const specifiers = [...text.matchAll(/(?:from|import\()\s*'intentbook\/([a-z-]+)'/g)].map(([, name = '']) => name);
  return specifiers.filter((name) => !['accounts', 'chain-events', 'store-kit', 'openapi'].includes(name));
}

const getFolder = (file: string): string => file.split('/').slice(0, 2).join('/');
const PROGRAMS = readdirSync(join(ROOT, 'apps'));

describe('imports of adapters', () => {
  it.each(listFiles('adapters'))('%s stays in its folder', (file) => {
    expect(readImports(file).filter((to) => getFolder(to) !== getFolder(file))).toEqual([]);
  });

  it.each(listFiles('adapters'))('%s imports no other adapter and no program', (file) => {
    // Express passes Node's own request objects, and Fastify's plugin takes them from the raw request. The client
    // creates the typed data that an account signs.
    const uses = { express: ['node-http'], fastify: ['node-http'], client: ['sign'] };
    const allowed = uses[file.split('/')[1] as keyof typeof uses] ?? [];
    expect(readEntries(file).filter((entry) => !allowed.includes(entry))).toEqual([]);
  });
});

describe('imports of programs', () => {
  it.each(listFiles('apps'))('%s imports no files of other folders', (file) => {
    const allowed = getFolder(file) === 'apps/cli' ? ['apps/cli', 'apps/server'] : [getFolder(file)];
    expect(readImports(file).filter((to) => !allowed.includes(getFolder(to)))).toEqual([]);
  });

  it('do not reach the command line, and the server does not reach the sandbox', () => {
    const programs = new Map(
      PROGRAMS.map((name) => [
        name,
        [...new Set(listFiles(`apps/${name}`).flatMap(readEntries))].filter((entry) => PROGRAMS.includes(entry)).sort(),
      ]),
    );
    expect(Object.fromEntries(programs)).toEqual({
      cli: ['sandbox'], // and the files of apps/server
      create: [],
      explorer: [],
      sandbox: ['server', 'solver'],
      server: ['explorer'],
      solver: [],
    });
  });
});
