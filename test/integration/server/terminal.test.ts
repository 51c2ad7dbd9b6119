import { memoryStore } from 'intentbook/memory';
import { serve } from 'intentbook/server';
import { describe, expect, test } from 'vitest';
import { COMMANDS } from '../../../apps/cli/commands.ts';
import { helpText } from '../../../apps/cli/help.ts';
import { textLog } from '../../../apps/cli/logging/text-log.ts';
import { createStyle, PLAIN } from '../../../apps/cli/style.ts';
import { progressBar } from '../../../apps/server/commands/progress.ts';
import { requirePackage } from '../../../apps/server/require-package.ts';
import { FLAGS } from '../../../apps/server/settings/flags.ts';

function output(isTTY: boolean) {
  const written: string[] = [];
  const stream = { isTTY, write: (text: string) => written.push(text) };
  return { stream, text: () => written.join(''), last: () => written.at(-1) ?? '' };
}

/** Matches escape sequences of colours. */
const COLOUR = '\u001b[';

describe('help', () => {
  test('has colours on a terminal only, and none with NO_COLOR', () => {
    expect(helpText('serve', createStyle({ isTTY: true }, {}))).toContain(COLOUR);
    for (const style of [
      createStyle({}),
      createStyle({ isTTY: true }, { NO_COLOR: '1' }),
      createStyle({ isTTY: true }, { TERM: 'dumb' }),
    ]) {
      expect(style).toBe(PLAIN);
      expect(helpText('serve', style)).not.toContain(COLOUR);
    }
  });

  test.each(COMMANDS.map((command) => [command.name, command] as const))(
    'of %s has its flags and an example',
    (name, command) => {
      const text = helpText(name, PLAIN, true);
      for (const flag of command.flags) if (!flag.inFile) expect(text).toContain(`--${flag.name}`);
      for (const example of command.examples) expect(text).toContain(`intentbook ${example}`);
      for (const line of text.split('\n')) expect(line.length).toBeLessThanOrEqual(120);
    },
  );

  test('of serve begins with about 20 common flags and names the way to all', () => {
    const text = helpText('serve');
    const flags = text.split('\n').filter((line) => line.startsWith('  --'));
    expect(flags.length).toBeGreaterThanOrEqual(18);
    expect(flags.length).toBeLessThanOrEqual(22);
    expect(text).toContain('"intentbook serve --help --all"');
  });

  test('of serve contains every setting once', () => {
    const lines = helpText('serve', PLAIN, true).split('\n');
    const flags = FLAGS.filter(({ scope, inFile }) => scope !== 'command' && !inFile);
    for (const { name } of flags) {
      expect(
        lines.filter((line) => line.startsWith(`  --${name} `) || line === `  --${name}`),
        name,
      ).toHaveLength(1);
    }
  });
});

describe('text log', () => {
  const exchange = {
    id: 'a',
    method: 'GET',
    path: '/api/v1/\u001b[31morders',
    status: 404,
    errorType: 'NotFound',
    ms: 1.25,
    client: undefined,
  };

  test('prints a line for each request on a terminal, without control characters of the path', () => {
    const out = output(true);
    textLog('1', { stdout: out.stream, stderr: out.stream, env: { NO_COLOR: '1' } }).exchanged(exchange);
    expect(out.text()).toMatch(/^\d\d:\d\d:\d\d GET {4}404 \/api\/v1\/\?\[31morders NotFound 1\.\d ms\n$/);
  });

  test('prints no requests to a file', () => {
    const out = output(false);
    textLog('1', { stdout: out.stream, stderr: out.stream, env: {} }).exchanged(exchange);
    expect(out.text()).toBe('');
  });

  test('names the explorer, the API and the reference at the start', async () => {
    const out = output(false);
    const server = await serve({ port: 0, store: memoryStore() });
    textLog('1.2.3', { stdout: out.stream, stderr: out.stream, env: {} }).started(server);
    await server.close();
    expect(out.text()).toContain(`API        ${server.url}/api/v1\n`);
    expect(out.text()).toContain(`explorer   ${server.url}/\n`);
    expect(out.text()).toContain(`docs       ${server.url}/docs\n`);
    expect(out.text()).toContain('nodes      none; chain checks and indexing are off');
    expect(out.text()).toContain('prices     test prices, for quotes; set others with --prices');
  });

  test('names the host of the upstream at the start, without its secrets', async () => {
    const out = output(false);
    const upstream = 'http://user:secret@127.0.0.1:1/sepolia';
    const server = await serve({ port: 0, store: memoryStore(), upstream });
    textLog('1.2.3', { stdout: out.stream, stderr: out.stream, env: {} }).started(server);
    await server.close();
    expect(out.text()).toContain('upstream   127.0.0.1:1; orders are sent there');
    expect(out.text()).not.toContain('secret');
  });

  test.each([{ chain: 'base' }, { prices: 'off' }] as const)('names no test prices with %j', async (options) => {
    const out = output(false);
    const server = await serve({ port: 0, store: memoryStore(), ...options });
    textLog('1.2.3', { stdout: out.stream, stderr: out.stream, env: {} }).started(server);
    await server.close();
    expect(out.text()).not.toContain('test prices');
  });

  test('prints the reason of a node that does not respond once', () => {
    const out = output(false);
    const log = textLog('1', { stdout: out.stream, stderr: out.stream, env: {} });
    log.failure('/', Object.assign(new Error('fetch failed'), { name: 'NodeError' }));
    log.warning('chain: node 1 at 127.0.0.1 does not respond (fetch failed); retrying');
    expect(out.text()).toBe(
      'intentbook: node: fetch failed\nintentbook: chain: node 1 at 127.0.0.1 does not respond; retrying\n',
    );
  });
});

describe('progress', () => {
  test('shows total, rate and remaining time on a terminal', () => {
    const out = output(true);
    const clock = { now: 0 };
    const progress = progressBar('verify', out.stream, () => clock.now);
    clock.now = 2000;
    progress.at(400, 1000);
    expect(out.last()).toContain('400/1000 40 %, 200/s, 3 s left');
    clock.now = 5000;
    progress.at(1000, 1000);
    expect(out.last()).toContain('1000/1000 100 %, 200/s');
    expect(out.last()).not.toContain('left');
    clock.now = 6000;
    progress.at(1200, 1000);
    expect(out.last()).toContain('verify 1200, 200/s');
    clock.now = 3_605_000;
    progress.at(1, 3);
    expect(out.last()).toContain('h 0 min left');
  });

  test('is not shown in a file', () => {
    const out = output(false);
    const progress = progressBar('verify', out.stream);
    progress.at(1, 2);
    progress.end();
    expect(out.text()).toBe('');
  });
});

describe('missing package', () => {
  test('is named with the setting and the command that installs it', async () => {
    const missing = Object.assign(new Error("Cannot find package 'pino'"), { code: 'ERR_MODULE_NOT_FOUND' });
    const load = () => Promise.reject(missing);
    await expect(requirePackage('--log json', 'pino', load)).rejects.toThrow(
      '--log json requires the package pino: npm install pino',
    );
    const broken = new SyntaxError('broken');
    await expect(requirePackage('--log json', 'pino', () => Promise.reject(broken))).rejects.toBe(broken);
  });
});

test('lameduck: /ready is false and requests are served until the server closes', async () => {
  const server = await serve({ port: 0, store: memoryStore(), lameduck: 1 });
  const closed = server.close();
  const ready = await fetch(`${server.url}/ready`);
  expect([ready.status, await ready.json()]).toMatchObject([500, { ready: false, checks: { server: 'closing' } }]);
  expect((await fetch(`${server.url}/api/v1/version`)).status).toBe(200);
  await closed;
  await expect(fetch(`${server.url}/live`)).rejects.toThrow();
});
