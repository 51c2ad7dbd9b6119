import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { createOrderBook } from 'intentbook';
import { sqliteStore } from 'intentbook/sqlite';
import { afterAll, describe, expect, test } from 'vitest';
import { COMMANDS } from '../../../apps/cli/commands.ts';
import { completionScript } from '../../../apps/cli/completion.ts';
import { account, signOrder } from '../../support/orders.ts';
import { CLI, cleanUp, intentbook, scratch } from './process.ts';

afterAll(cleanUp);

const DAY = 86_400;

/** Creates a book with one order that has expired 40 days ago. */
async function bookWithOldOrder(): Promise<string> {
  const db = join(await scratch(), 'book.sqlite');
  const book = createOrderBook({ chainId: 11155111, store: sqliteStore({ path: db }) });
  await book.start();
  const validTo = Math.floor(Date.now() / 1000) + 1200;
  expect((await book.orders.submit(await signOrder(account(1), { validTo }))).status).toBe('accepted');
  await book.close();
  const file = new Database(db);
  const old = Math.floor(Date.now() / 1000) - 40 * DAY;
  file.prepare('UPDATE orders SET created = ?, valid_to = ?').run(old * 1000, old + 60);
  file.close();
  // The number does not contain orders whose expiry is not recorded, which a server or this command does.
  await intentbook(['prune', '--older-than', '50', '--db', db]).ended;
  return db;
}

const countOrders = (db: string) => {
  const file = new Database(db, { readonly: true });
  const { n } = file.prepare('SELECT count(*) AS n FROM orders').get() as { n: number };
  file.close();
  return n;
};

/** Runs a command on a terminal, and types a text. */
function onTerminal(args: readonly string[], typed: string, cwd?: string) {
  const command = [process.execPath, CLI, ...args].map((word) => `'${word}'`).join(' ');
  const options = { input: typed, encoding: 'utf8' as const, ...(cwd === undefined ? {} : { cwd }) };
  return spawnSync('script', ['-qec', command, '/dev/null'], options);
}

const hasTerminal = spawnSync('script', ['--version']).status === 0;

describe('prune', () => {
  test('prints with --dry-run what it would delete', async () => {
    const db = await bookWithOldOrder();
    const { code, stdout } = await intentbook(['prune', '--older-than', '30', '--dry-run', '--db', db]).ended;
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^1 order would be removed, all over before 2/)]);
    const json = await intentbook(['prune', '--older-than', '50', '--dry-run', '--json', '--db', db]).ended;
    expect(JSON.parse(json.stdout)).toMatchObject({ ok: true, dryRun: true, orders: 0 });
    expect(countOrders(db)).toBe(1);
  });

  test.skipIf(!hasTerminal)('deletes on a terminal after a confirmation only', async () => {
    const db = await bookWithOldOrder();
    const args = ['prune', '--older-than', '30', '--db', db];
    const refused = onTerminal(args, '\n');
    expect(refused.stdout).toContain('1 order would be removed');
    expect(refused.stdout).toContain('Delete them? (y/N)');
    expect(refused.stdout).toContain('nothing was deleted');
    expect([refused.status, countOrders(db)]).toEqual([1, 1]);
    const confirmed = onTerminal(args, 'y\n');
    expect(confirmed.stdout).toContain('1 order and 0 quotes were removed');
    expect([confirmed.status, countOrders(db)]).toEqual([0, 0]);
    expect(onTerminal([...args, '--yes'], '').stdout).not.toContain('(y/N)');
  });
});

describe('init', () => {
  test.skipIf(!hasTerminal)('requests the chain on a terminal, until it is known', async () => {
    const cwd = await scratch();
    const { stdout, status } = onTerminal(['init'], 'bitcoin\ngnosis\n', cwd);
    expect(stdout).toContain('got "bitcoin"');
    expect([status, readFileSync(join(cwd, 'intentbook.json'), 'utf8')]).toEqual([
      0,
      expect.stringContaining('"chain": "gnosis"'),
    ]);
    const given = onTerminal(['init', 'other.json', '--chain', 'base'], '', cwd);
    expect([given.status, existsSync(join(cwd, 'other.json'))]).toEqual([0, true]);
  });
});

describe('completion', () => {
  const SANDBOX = '  --chain <name or id>     chain\n  --state <file>  the file\n  --json   prints JSON\n';

  /** Completes the words of a command line in bash. The last one is incomplete. */
  function complete(...words: string[]): string[] {
    const line = words.map((word) => `'${word}'`).join(' ');
    const script = `${completionScript('bash', SANDBOX)}
COMP_WORDS=(${line}); COMP_CWORD=${words.length - 1}; _intentbook; printf '%s\\n' "\${COMPREPLY[@]}"`;
    const { status, stdout, stderr } = spawnSync('bash', ['-c', script], { encoding: 'utf8', cwd: '/' });
    expect([status, stderr]).toEqual([0, '']);
    return stdout.trim().split('\n');
  }

  test('of bash completes commands, the flags of a command, and values', () => {
    expect(complete('intentbook', 'ver')).toEqual(['verify', 'version']);
    expect(complete('intentbook', 'prune', '--dry')).toEqual(['--dry-run']);
    expect(complete('intentbook', 'export', '--table', 'tr')).toEqual(['trades']);
    expect(complete('intentbook', 'help', 'pru')).toEqual(['prune']);
    expect(complete('intentbook', 'serve', '--older')).toEqual(['']);
  });

  test('of bash completes arguments, names of chains, and files only where a file is expected', () => {
    expect(complete('intentbook', 'completion', '')).toEqual(['bash', 'zsh', 'fish']);
    expect(complete('intentbook', 'keys', '')).toEqual(['create']);
    const chains = complete('intentbook', 'serve', '--chain', '');
    expect(chains).toEqual(expect.arrayContaining(['mainnet', 'sepolia', 'gnosis']));
    expect(chains.filter((text) => !/^[a-z_]+$/.test(text))).toEqual([]);
    expect(complete('intentbook', 'serve', '--db', '').filter((text) => text.startsWith('-'))).toEqual([]);
    expect(complete('intentbook', 'serve', '--db', '/et')).toEqual(['/etc']);
    expect(complete('intentbook', 'serve', '--port', '/et')).toEqual(['']);
    expect(complete('intentbook', 'sandbox', '--')).toEqual(['--chain', '--state', '--json', '--help']);
    expect(complete('intentbook', 'sandbox', '--state', '/et')).toEqual(['/etc']);
    const afterSwitch = complete('intentbook', 'serve', '--migrate', '');
    expect([afterSwitch.includes('on'), afterSwitch.includes('--port')]).toEqual([false, true]);
  });

  test.each([
    ['zsh', "'1:argument:(bash zsh fish)'"],
    ['fish', "__fish_seen_subcommand_from completion' -f -a 'bash zsh fish'"],
  ] as const)('of %s completes the argument of a command', (shell, text) => {
    expect(completionScript(shell, SANDBOX)).toContain(text);
  });

  test.skipIf(spawnSync('fish', ['--version']).status !== 0)('of fish completes commands, flags and values', () => {
    const complete = (line: string) => {
      const script = `${completionScript('fish', SANDBOX)}\ncomplete -C '${line}'`;
      const { stdout, stderr } = spawnSync('fish', ['--no-config', '-c', script], { encoding: 'utf8', cwd: '/' });
      expect(stderr).toBe('');
      return stdout
        .trim()
        .split('\n')
        .map((row) => row.split('\t')[0]);
    };
    expect(complete('intentbook ver')).toEqual(['verify', 'version']);
    expect(complete('intentbook serve --profile ')).toEqual(['production', 'specification']);
    expect(complete('intentbook prune --dry')).toEqual(['--dry-run']);
    expect(complete('intentbook completion ')).toEqual(['bash', 'fish', 'zsh']);
    expect(complete('intentbook serve --older')).toEqual(['']);
  });

  test.each(['bash', 'zsh', 'fish'] as const)('of %s has each command and flag', (shell) => {
    const script = completionScript(shell, SANDBOX);
    for (const { name, flags } of COMMANDS) {
      expect(script).toContain(name);
      for (const flag of flags) expect(script).toContain(shell === 'fish' ? `-l ${flag.name}` : `--${flag.name}`);
    }
  });

  test('rejects another shell, and names those that it has', async () => {
    const { code, stderr } = await intentbook(['completion', 'tcsh']).ended;
    expect([code, stderr]).toEqual([2, 'intentbook: <shell> must be one of bash, zsh, fish, got "tcsh"\n']);
    const { stdout } = await intentbook(['completion', 'fish']).ended;
    expect(stdout).toContain("complete -c intentbook -n '__fish_seen_subcommand_from sandbox' -l simulated -d");
    expect(stdout).toContain("complete -c intentbook -n '__fish_seen_subcommand_from sandbox' -l state -r");
  });
});

describe('doctor', () => {
  test('reports what the settings refer to, without secrets, and exits with 1 for a problem', async () => {
    const results: Record<string, unknown> = {
      eth_chainId: '0xaa36a7',
      eth_getBlockByNumber: { number: '0x10', timestamp: `0x${Math.floor(Date.now() / 1000).toString(16)}` },
    };
    const node = createServer(async (request, response) => {
      let body = '';
      for await (const chunk of request) body += String(chunk);
      const { id, method } = JSON.parse(body) as { id: number; method: string };
      const isAllowed = request.headers.authorization === `Basic ${btoa('me:secret-word')}`;
      response.end(JSON.stringify({ jsonrpc: '2.0', id, result: isAllowed ? results[method] : null }));
    });
    await new Promise<void>((resolve) => node.listen(0, '127.0.0.1', resolve));
    const { port } = node.address() as AddressInfo;
    const rpc = `http://me:secret-word@127.0.0.1:${port}/secret-key`;
    const db = join(await scratch(), 'book.sqlite');
    const args = ['doctor', '--chain', 'sepolia', '--db', db, '--rpc', rpc];
    const healthy = await intentbook(args).ended;
    expect(healthy.stdout).toMatch(/intentbook +\d+\.\d+\.\d+\n/);
    expect(healthy.stdout).toMatch(new RegExp(`Node.js +${process.versions.node}, with`));
    expect(healthy.stdout).toMatch(/packages +.*better-sqlite3/);
    expect(healthy.stdout).toMatch(new RegExp(`node of / +http://127\\.0\\.0\\.1:${port}, block 16, -?\\d+ s old`));
    expect(healthy.stdout).toMatch(/disk of \/ +.*GiB free/);
    expect(healthy.stdout).not.toContain('secret-');
    expect(healthy.stdout).not.toMatch(/PROBLEM (?!disk)/); // the disk of a test machine may be full
    expect(existsSync(db)).toBe(false); // nothing was created

    results['eth_chainId'] = '0x1';
    const other = await intentbook([...args, '--json']).ended;
    const { ok, report } = JSON.parse(other.stdout) as { ok: boolean; report: { text: string; isProblem?: boolean }[] };
    const problems = report.filter(({ isProblem, text }) => isProblem && !text.includes('GiB')).map(({ text }) => text);
    expect([other.code, ok, problems]).toEqual([
      1,
      false,
      [`http://127.0.0.1:${port} has chain 1, must have 11155111`],
    ]);
    node.close();
    const silent = await intentbook(args).ended;
    expect([silent.code, silent.stdout]).toEqual([1, expect.stringMatching(/PROBLEM node of \/ +.*ECONNREFUSED/)]);
  });
});
