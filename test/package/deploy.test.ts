import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { COMMANDS } from '../../apps/cli/commands.ts';
import { parseCommand } from '../../apps/cli/parse.ts';
import { readPage, tablesOf } from './docs-pages.ts';

const FOLDER = fileURLToPath(new URL('../../deploy', import.meta.url));
const read = (name: string) => readFileSync(join(FOLDER, name), 'utf8');

/** The tools that check a file, with the arguments and the text of a successful check. */
const TOOLS: readonly (readonly [tool: string, args: readonly string[], success: RegExp])[] = [
  ['nginx', ['-t', '-e', 'stderr', '-c', join(FOLDER, 'nginx.conf')], /test is successful/],
  ['promtool', ['check', 'rules', join(FOLDER, 'prometheus-rules.yaml')], /SUCCESS: \d+ rules found/],
  ['caddy', ['validate', '--adapter', 'caddyfile', '--config', join(FOLDER, 'Caddyfile')], /Valid configuration/],
];

/** Creates a certificate that its key has signed. */
function createCertificate(key: string, certificate: string): void {
  const subject = ['-subj', '/CN=orders.example.org', '-days', '1', '-nodes'];
  spawnSync('openssl', ['req', '-x509', '-newkey', 'rsa:2048', ...subject, '-keyout', key, '-out', certificate]);
}

/** The programs, where they are installed. */
const [NGINX = '', TESTER = '', CADDY = ''] = TOOLS.map(([tool]) => tool);

describe('deployment files', () => {
  describe.each(TOOLS)('%s', (tool, args, success) => {
    const isInstalled = spawnSync('which', [tool]).status === 0;
    it.skipIf(!isInstalled)(`accepts its file${isInstalled ? '' : ` (skipped without ${tool})`}`, () => {
      const { stdout, stderr } = spawnSync(tool, args, { encoding: 'utf8' });
      expect(stdout + stderr).toMatch(success);
    });
  });

  describe('TLS blocks of the page', () => {
    const [, section = ''] = readPage('docs/deploy/server.md').text.split('\n### TLS\n');
    const [caddy = '', nginx = ''] = [...section.matchAll(/^```(?:nginx)?\n([\s\S]*?)^```$/gm)].map(([, code]) => code);
    const folder = mkdtempSync(join(tmpdir(), 'intentbook-tls-'));
    const missing = ['nginx', 'caddy', 'openssl'].filter((tool) => spawnSync('which', [tool]).status !== 0);
    const note = (tool: string) => (missing.includes(tool) ? ` (skipped without ${tool})` : '');

    it.skipIf(missing.includes('caddy') || missing.includes('openssl'))(
      `are accepted by caddy${note('caddy')}, also with a certificate`,
      () => {
        const [key, certificate] = ['/etc/ssl/orders.key', '/etc/ssl/orders.crt'].map((path) => {
          expect(section).toContain(path);
          return join(folder, path.slice('/etc/ssl/'.length));
        });
        createCertificate(key ?? '', certificate ?? '');
        const [, added = ''] = /`(tls [^`]*)`/.exec(section) ?? [];
        const withFiles = added.replaceAll('/etc/ssl/', `${folder}/`);
        expect(added).not.toBe('');
        for (const text of [caddy, caddy.replace('{\n', `{\n\t${withFiles}\n`)]) {
          const file = join(folder, 'Caddyfile');
          writeFileSync(file, text);
          const env = { ...process.env, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder };
          const args = ['validate', '--adapter', 'caddyfile', '--config', file];
          const { stdout, stderr } = spawnSync(CADDY, args, { encoding: 'utf8', env });
          expect(stdout + stderr).toMatch(/Valid configuration/);
        }
      },
    );

    it.skipIf(missing.includes('nginx') || missing.includes('openssl'))(
      `are accepted by nginx in its file${note('nginx')}${note('openssl')}`,
      () => {
        const [key = '', certificate = ''] = ['privkey.pem', 'fullchain.pem'].map((name) => join(folder, name));
        createCertificate(key, certificate);
        const live = '/etc/letsencrypt/live/orders.example.org';
        expect(nginx).toContain(`${live}/fullchain.pem`);
        const text = read('nginx.conf').replace('    listen 8000;\n', nginx.replaceAll(live, folder));
        expect(text).toContain('listen 443 ssl');
        const file = join(folder, 'nginx.conf');
        writeFileSync(file, text);
        const { stdout, stderr } = spawnSync(NGINX, ['-t', '-e', 'stderr', '-c', file], { encoding: 'utf8' });
        expect(stdout + stderr).toMatch(/test is successful/);
        // A block that lacks a file is refused, so that the test reads the block.
        writeFileSync(file, text.replace(certificate, `${certificate}.missing`));
        expect(spawnSync(NGINX, ['-t', '-e', 'stderr', '-c', file]).status).toBe(1);
      },
    );
  });

  it('each alert fires for its fault, and not for others', () => {
    const cases = readFileSync(new URL('prometheus-alerts.yaml', import.meta.url), 'utf8');
    const findNames = (text: string) => [...text.matchAll(/ alert(?:name)?: (\w+)$/gm)].map(([, name]) => name).sort();
    expect(findNames(cases)).toEqual(findNames(read('prometheus-rules.yaml')));
    if (spawnSync('which', [TESTER]).status !== 0) return;
    const file = join(mkdtempSync(join(tmpdir(), 'intentbook-')), 'alerts.yaml');
    writeFileSync(file, cases.replace('RULES', join(FOLDER, 'prometheus-rules.yaml')));
    const { stdout, stderr } = spawnSync(TESTER, ['test', 'rules', file], { encoding: 'utf8' });
    expect(stdout + stderr).toContain('SUCCESS');
  });

  it('systemd: the unit names no unknown setting', () => {
    const isInstalled = spawnSync('which', ['systemd-analyze']).status === 0;
    if (!isInstalled) return expect(read('intentbook.service')).toContain('ExecStart=');
    const { stdout, stderr } = spawnSync('systemd-analyze', ['verify', join(FOLDER, 'intentbook.service')], {
      encoding: 'utf8',
    });
    expect(stdout + stderr).not.toMatch(/Unknown|Invalid|Failed to parse/i);
  });

  it('alerts and dashboard use only documented metrics', () => {
    const [table] = tablesOf(readPage('docs/reference/metrics.md').text);
    const known = (table?.rows ?? []).map(([name = '']) => name.replaceAll('`', ''));
    const used = (read('prometheus-rules.yaml') + read('grafana-dashboard.json')).match(/\bintentbook_\w+/g) ?? [];
    const names = used.map((name) => name.replace(/_bucket$/, ''));
    expect(names.length).toBeGreaterThan(15);
    expect([...new Set(names)].filter((name) => !known.includes(name))).toEqual([]);
  });

  it('server flags and variables are known to the command line', () => {
    const reference = readPage('docs/reference/cli.md').text + readPage('docs/deploy/configuration.md').text;
    const files = ['Dockerfile', 'compose.yaml', 'intentbook.service', 'kubernetes.yaml'].map(read).join('\n');
    const variables = files.match(/INTENTBOOK_\w+/g) ?? [];
    const flags = [...files.matchAll(/"?(--[a-z-]+)"?,/g)].map(([, flag = '']) => flag);
    expect(variables.length).toBeGreaterThan(3);
    expect(flags.length).toBeGreaterThan(3);
    for (const variable of variables) expect(reference).toContain(variable.replace(/_FILE$/, ''));
    for (const flag of flags.filter((each) => !['--interval', '--omit'].includes(each))) {
      expect(reference).toContain(flag);
    }
  });

  it('commands of containers and the unit are valid', () => {
    const files = ['Dockerfile', 'compose.yaml', 'intentbook.service', 'kubernetes.yaml'].map(read).join('\n');
    const lists = [...files.matchAll(/^\s*(?:CMD|command:|args:) \[(.*)\]$/gm)].map(([, list = '']) =>
      list.split(', ').map((word) => word.replaceAll('"', '')),
    );
    const units = [...files.matchAll(/^ExecStart=.*cli\.js (.*)$/gm)].map(([, line = '']) => line.split(' '));
    const commands = [...lists, ...units].filter(([name]) => COMMANDS.some((command) => command.name === name));
    expect(commands.map(([name]) => name)).toEqual(['serve', 'migrate', 'serve', 'migrate', 'serve', 'serve']);
    const env = { INTENTBOOK_POSTGRES: 'postgres://postgres/orders' };
    for (const [name = '', ...args] of commands) {
      const isDatabaseGiven = args.includes('--db') || args.includes('--config');
      expect(parseCommand([name, ...args], isDatabaseGiven ? {} : env)).toMatchObject({ name });
    }
  });

  it('the dashboard is JSON with panels', () => {
    const { panels } = JSON.parse(read('grafana-dashboard.json')) as {
      panels: { title: string; targets: { expr: string; legendFormat: string }[] }[];
    };
    expect(panels.length).toBeGreaterThan(8);
    expect(new Set(panels.map(({ title }) => title)).size).toBe(panels.length);
    // With several replicas, no panel draws two lines of one name.
    for (const { targets } of panels) {
      for (const { expr, legendFormat } of targets) {
        const [, labels] = /^(?:histogram_quantile\([\d.]+, )?(?:sum|max) by \(([^)]*)\)/.exec(expr) ?? [];
        const names = labels?.split(', ').filter((name) => name !== 'le') ?? ['instance'];
        for (const name of names) expect([expr, legendFormat]).toEqual([expr, expect.stringContaining(`{{${name}}}`)]);
      }
    }
  });

  it('the health check of the image reads the port of the server', () => {
    const [, command = ''] = /HEALTHCHECK[\s\S]*?CMD (\[.*\])/.exec(read('Dockerfile')) ?? [];
    const [file = '', ...args] = JSON.parse(command) as string[];
    expect(file).toBe('node');
    const server =
      'require("http").createServer((_, r) => r.end()).listen(0, () => console.log(server.address().port))';
    const script = `const server = ${server}; process.on("message", () => {});`;
    const child = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'ignore'] });
    onTestFinished(() => void child.kill());
    return new Promise<void>((resolve, reject) => {
      child.stdout.once('data', (port: Buffer) => {
        const run = (env: object) => spawnSync(process.execPath, args, { env: { ...process.env, ...env } }).status;
        try {
          expect([run({ INTENTBOOK_PORT: String(port).trim() }), run({ INTENTBOOK_PORT: '1' })]).toEqual([0, 1]);
          resolve();
        } catch (error) {
          reject(error);
        }
      });
    });
  });
});
