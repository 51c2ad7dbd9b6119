import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { expect, test } from 'vitest';

const root = fileURLToPath(new URL('../../', import.meta.url));

/** The sources of all that can be imported. */
const ENTRIES = [
  ...['src/index.ts', 'src/adapter.ts', 'src/http/openapi/index.ts', 'test/conformance/index.ts'],
  ...readdirSync(`${root}adapters`).map((name) => `adapters/${name}/index.ts`),
].map((file) => root + file);

test('every public name says what it is', () => {
  const { options } = ts.parseJsonConfigFileContent(
    ts.readConfigFile(`${root}tsconfig.json`, ts.sys.readFile).config,
    ts.sys,
    root,
  );
  const program = ts.createProgram(ENTRIES, { ...options, noEmit: true });
  const checker = program.getTypeChecker();
  const names = new Map<string, boolean>();
  for (const entry of ENTRIES) {
    const file = program.getSourceFile(entry);
    const symbol = file && checker.getSymbolAtLocation(file);
    for (const exported of symbol === undefined ? [] : checker.getExportsOfModule(symbol)) {
      const isAlias = (exported.flags & ts.SymbolFlags.Alias) !== 0;
      const named = isAlias ? checker.getAliasedSymbol(exported) : exported;
      const where = named.declarations?.[0]?.getSourceFile().fileName ?? '';
      if (!where.startsWith(root) || where.includes('node_modules')) continue;
      const says = ts.displayPartsToString(named.getDocumentationComment(checker)).trim();
      names.set(`${where.slice(root.length)}: ${named.name}`, says !== '');
    }
  }
  expect(names.size).toBeGreaterThan(200);
  expect([...names].filter(([, documented]) => !documented).map(([name]) => name)).toEqual([]);
});
