import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { manifest } from './host.ts';

const SOURCE = fileURLToPath(new URL('../../apps/create', import.meta.url));
const NAMES = ['express', 'fastify', 'hono', 'server', 'dapp', 'bot'];

/** The error without a terminal, up to the name of the template. */
const MISSING =
  `without a terminal, the folder and one of the templates ${NAMES.join(', ')} are required: ` +
  'npm create intentbook@latest my-book --';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'intentbook-create-'));
  execFileSync('npm', ['pack', '--silent', '--pack-destination', folder], { cwd: SOURCE });
  const tarball = readdirSync(folder).find((name) => name.endsWith('.tgz')) ?? '';
  execFileSync('tar', ['-xzf', join(folder, tarball), '-C', folder]);
});
afterAll(() => rmSync(folder, { recursive: true }));

function create(...args: string[]) {
  const program = join(folder, 'package/create.mjs');
  return spawnSync(process.execPath, [program, ...args], { cwd: folder, encoding: 'utf8', input: '' });
}

describe('npm create intentbook, from its tarball', () => {
  it.each(NAMES)('creates a project from the template %s', (template) => {
    const { status, stdout, stderr } = create(`My ${template}`, '--template', template);
    expect([status, stderr]).toEqual([0, '']);
    expect(stdout).toContain(`  cd 'My ${template}'\n  npm install\n  npm test\n`);
    // The dApp is a module, which prints nothing when it is run.
    expect(stdout.includes('  npm start\n')).toBe(template !== 'dapp');
    const project = join(folder, `My ${template}`);
    const created = JSON.parse(readFileSync(join(project, 'package.json'), 'utf8'));
    expect(created).toMatchObject({ name: `my-${template}`, private: true, scripts: { test: expect.any(String) } });
    // A project works with the version of the package that it was created with.
    expect(created.dependencies.intentbook).toBe(`^${manifest.version}`);
    const files = readdirSync(project);
    expect(files).toEqual(expect.arrayContaining(['.gitignore', 'README.md', expect.stringMatching(/test\.js$/)]));
    expect(files).not.toContain('node_modules');
  });

  it.skipIf(spawnSync('script', ['--version']).status !== 0)('requests what is missing on a terminal', () => {
    const command = `'${process.execPath}' '${join(folder, 'package/create.mjs')}'`;
    const run = (input: string) =>
      spawnSync('script', ['-qec', command, '/dev/null'], { cwd: folder, encoding: 'utf8', input });
    expect(run('typed\n4\n').stdout).toContain('cd typed');
    expect(readdirSync(join(folder, 'typed'))).toContain('intentbook.json');
    const closed = run('other\n\u0004');
    expect([closed.status, closed.stdout]).toEqual([2, expect.stringContaining('without a reply')]);
    // Questions in a file would not be seen.
    const redirected = spawnSync('script', ['-qec', `${command} > output`, '/dev/null'], {
      cwd: folder,
      encoding: 'utf8',
    });
    expect([redirected.status, redirected.stdout]).toEqual([2, expect.stringContaining(MISSING)]);
  });

  it.skipIf(process.platform === 'win32').each([`it's "$HOME" \`!x`, '-x', '-'])(
    'prints a command that a shell reads as the folder %s',
    (name) => {
      const line = create(join(folder, name), '--template', 'server')
        .stdout.split('\n')
        .find((text) => text.trim().startsWith('cd '));
      expect(execFileSync('sh', ['-c', `${line} && pwd`], { cwd: folder, encoding: 'utf8' })).toContain(`/${name}\n`);
    },
  );

  it.skipIf(process.platform === 'win32')('names a working directory that was removed', () => {
    const program = join(folder, 'package/create.mjs');
    const script = 'mkdir removed && cd removed && rmdir ../removed && exec "$0" "$1" x --template server';
    const { status, stderr } = spawnSync('sh', ['-c', script, process.execPath, program], {
      cwd: folder,
      encoding: 'utf8',
    });
    expect([status, stderr]).toEqual([1, 'create-intentbook: the current directory was removed; change to another\n']);
  });

  it('has the version of the package', () => {
    expect(JSON.parse(readFileSync(join(SOURCE, 'package.json'), 'utf8')).version).toBe(manifest.version);
  });

  it('writes into an empty folder only', () => {
    mkdirSync(join(folder, 'used'));
    writeFileSync(join(folder, 'used/file'), '');
    const { status, stderr } = create('used', '--template', 'server');
    expect([status, stderr]).toEqual([2, `create-intentbook: the folder "${join(folder, 'used')}" must be empty\n`]);
    expect(readdirSync(join(folder, 'used'))).toEqual(['file']);
  });

  it.each([
    [[], `${MISSING} --template express`],
    [['book'], `${MISSING} --template express`.replace('my-book', 'book')],
    [["it's $HOME"], `${MISSING} --template express`.replace('my-book', "'it'\\''s $HOME'")],
    [['--template=a b'], `${MISSING} --template 'a b'`],
    [['book', '--template', 'koa'], `--template must be one of ${NAMES.join(', ')}, got "koa"`],
    [['book', '--template'], `--template must be one of ${NAMES.join(', ')}`],
    [['--template=server'], `${MISSING} --template server`],
    [['book', '--typescript'], 'unknown flag "--typescript"; flags: --template, --help'],
    [['book', 'store'], 'argument "store" is not known'],
  ])('rejects %j without a terminal', (args, message) => {
    const { status, stderr } = create(...args);
    expect([status, stderr]).toEqual([2, `create-intentbook: ${message}\n`]);
  });

  it('prints the templates', () => {
    const { status, stdout } = create('--help');
    expect(status).toBe(0);
    for (const name of NAMES) expect(stdout).toMatch(new RegExp(`^  ${name} +\\S`, 'm'));
  });
});
