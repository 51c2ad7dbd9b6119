import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** The members of the package's manifest that the tests read. */
export const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  readonly version: string;
  readonly exports: Readonly<Record<string, unknown>>;
  readonly scripts: Readonly<Record<string, string>>;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly peerDependencies: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta: Readonly<Record<string, object>>;
};

/** Returns the import paths of the package: `intentbook`, `intentbook/memory` and so on. */
export const ENTRIES = Object.keys(manifest.exports)
  .filter((entry) => !entry.endsWith('.json'))
  .map((entry) => `intentbook${entry.slice(1)}`);

/** Folder of a host that has installed the package. */
export interface Host {
  readonly folder: string;
  /** Size of the packed package in bytes. */
  readonly packedSize: number;
  /** Writes a program and runs it. @returns its output. */
  run(file: string, code: string): string;
  [Symbol.dispose](): void;
}

/** Unpacks the packed package into a folder with its dependencies and the given packages, and no others. */
export function unpackHost(packages: readonly string[] = []): Host {
  const folder = mkdtempSync(join(tmpdir(), 'intentbook-host-'));
  const packed = execFileSync('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', folder], {
    cwd: root,
  });
  const report: unknown = JSON.parse(packed.toString());
  const [first] = Array.isArray(report) ? report : Object.values(report as object); // npm 11 and 12 differ
  const target = join(folder, 'node_modules', 'intentbook');
  mkdirSync(target, { recursive: true });
  execFileSync('tar', ['-xzf', join(folder, first.filename), '-C', target, '--strip-components=1']);
  for (const name of [...Object.keys(manifest.dependencies), ...packages]) {
    const link = join(folder, 'node_modules', name);
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(join(root, 'node_modules', name), link);
  }
  writeFileSync(join(folder, 'package.json'), '{ "type": "commonjs" }');
  return {
    folder,
    packedSize: statSync(join(folder, first.filename)).size,
    run(file, code) {
      writeFileSync(join(folder, file), code);
      return execFileSync(process.execPath, [file], {
        cwd: folder,
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'pipe'],
      });
    },
    [Symbol.dispose]: () => rmSync(folder, { recursive: true }),
  };
}
