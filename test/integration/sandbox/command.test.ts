import { EventEmitter } from 'node:events';
import type { CommandHost } from 'intentbook/sandbox';
import { createSandbox, runSandboxCommand } from 'intentbook/sandbox';
import { describe, expect, it } from 'vitest';

/** Creates a process that records its output and its end. */
function createHost() {
  const written: string[] = [];
  const exits: number[] = [];
  const signals = new EventEmitter();
  const stream = { write: (text: string) => written.push(text) };
  const host: CommandHost = {
    stdout: stream,
    stderr: stream,
    on: (signal, listener) => signals.on(signal, listener),
    exit(code): never {
      exits.push(code);
      throw new Error('the command has ended');
    },
  };
  return { host, signals, written, exits };
}

const ARGS = ['--port', '0', '--rpc-port', '0', '--json'];

describe('intentbook sandbox', () => {
  it('finishes its end if the signal of Ctrl-C arrives twice', async () => {
    const { host, signals, written, exits } = createHost();
    await runSandboxCommand(ARGS, { ...host, exit: (code) => exits.push(code) as never });
    const { url } = JSON.parse(written.join(''));
    signals.emit('SIGINT');
    expect(signals.listenerCount('SIGINT')).toBe(1);
    signals.emit('SIGINT');
    expect(exits).toEqual([]);
    await expect.poll(() => exits).toEqual([0]);
    await expect(fetch(url)).rejects.toThrow();
  });

  it('needs no node with --simulated', async () => {
    const { host, signals, written, exits } = createHost();
    await runSandboxCommand(['--port', '0', '--simulated'], { ...host, exit: (code) => exits.push(code) as never });
    const text = written.join('');
    expect(text).toContain('simulated, without a node');
    expect(text).not.toContain('JSON-RPC');
    const [, url] = /Order book +(http:\S+)/.exec(text) ?? [];
    expect((await fetch(`${url}/api/v1/version`)).status).toBe(200);
    signals.emit('SIGINT');
    await expect.poll(() => exits).toEqual([0]);
  });

  it.each([
    [['--env', 'uniswap'], '--env must be one of cowswap, cow-explorer, got "uniswap"'],
    [['--chain', 'simulated'], '--chain must be replaced by --simulated, got "simulated"'],
    [['--env', 'cowswap', '--simulated'], '--env must not be given with --simulated'],
    [['--simulated', '--rpc-port', '8545'], '--rpc-port must not be given with --simulated, which has no JSON-RPC'],
    [
      ['--prot', '--port=http', '--solver=on', '--env=cowswap', '--simulated'],
      [
        '4 problems:',
        'unknown flag "--prot", did you mean "--port"?',
        '--port must be an integer from 0 to 65535, got "http"',
        '--solver must be one of auto, manual, off, got "on"',
        '--env must not be given with --simulated',
      ].join('\n  '),
    ],
    [['--prot', '8080'], 'unknown flag "--prot", did you mean "--port"?'],
  ])('rejects %j', async (args, message) => {
    const { host, written, exits } = createHost();
    await expect(runSandboxCommand(args, host)).rejects.toThrow('the command has ended');
    expect([exits, written.join('')]).toEqual([[2], `intentbook: ${message}\n`]);
  });

  it.each([
    [['--env', 'cowswap'], 2, 'UsageError', '--env and --json exclude each other'],
    [['--port', 'http'], 2, 'UsageError', '--port must be an integer from 0 to 65535, got "http"'],
    [['--simulated', '--port', '0', '--tokens', 'NONE'], 1, 'TypeError', expect.stringContaining('"NONE"')],
  ])('prints the error of %j with --json as JSON', async (args, exit, code, message) => {
    const { host, written, exits } = createHost();
    const run = runSandboxCommand([...args, '--json'], { ...host, stderr: { write() {} } });
    await expect(run).rejects.toThrow('the command has ended');
    expect(exits).toEqual([exit]);
    expect(JSON.parse(written.join(''))).toEqual({ ok: false, error: { code, message } });
  });

  it('prints the variables of a front end', async () => {
    const { host, signals, written, exits } = createHost();
    const args = ['--port', '0', '--rpc-port', '0', '--env', 'cowswap'];
    const shown: string[] = [];
    const stderr = { write: (text: string) => shown.push(text) };
    await runSandboxCommand(args, { ...host, stderr, exit: (code) => exits.push(code) as never });
    expect(shown.join('')).toMatch(/0x[0-9a-f]{64}.*Ctrl-C/s);
    const lines = written.join('').trim().split('\n');
    const variables = new Map(lines.map((line) => [line.split('=')[0], line.slice(line.indexOf('=') + 1)] as const));
    const { 11155111: url } = JSON.parse(variables.get('REACT_APP_ORDER_BOOK_URLS') ?? '');
    expect((await fetch(`${url}/api/v1/version`)).status).toBe(200);
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_chainId', params: [] });
    const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body };
    const node = await fetch(variables.get('REACT_APP_NETWORK_URL_11155111') ?? '', init);
    expect(await node.json()).toMatchObject({ result: '0xaa36a7' });
    for (const name of ['BFF', 'CMS', 'BALANCES_WATCHER']) {
      expect(variables.get(`REACT_APP_${name}_BASE_URL`)).toBe(url);
    }
    expect(variables.get('REACT_APP_EXPLORER_URL_PROD')).toBe(`"${url}/#"`);
    expect(variables.get('REACT_APP_ENVIRONMENT')).toBe('production');
    signals.emit('SIGINT');
    await expect.poll(() => exits).toEqual([0]);
  });

  it('exits at a signal during its start', async () => {
    const { host, signals, exits } = createHost();
    const args = [...ARGS, '--tokens', 'NONE']; // the start fails after the signal
    const ended = runSandboxCommand(args, { ...host, exit: (code) => exits.push(code) as never }).catch(() => {});
    signals.emit('SIGTERM');
    expect(exits).toEqual([0]);
    await ended;
  });

  it.each(['--json=off', '--json=1', '--help=x', '-h=x'])('rejects a value of the flag %s', async (flag) => {
    const { host, written, exits } = createHost();
    await expect(runSandboxCommand([...ARGS.slice(0, 4), flag], host)).rejects.toThrow('the command has ended');
    expect(exits).toEqual([2]);
    expect(written.join('')).toMatch(/must not have a value|is not known|unknown flag/);
  });
});

describe('host of a sandbox', () => {
  it('may be a name', async () => {
    await using sandbox = await createSandbox({ host: 'localhost' });
    for (const url of [sandbox.url, String(sandbox.rpcUrl)]) {
      expect((await fetch(url, { method: 'POST', body: '{}' })).status, url).toBeGreaterThanOrEqual(200);
    }
  });

  it('must not be empty', async () => {
    await expect(createSandbox({ host: '' })).rejects.toThrow('host must be an address or the name of one, got ""');
  });
});
