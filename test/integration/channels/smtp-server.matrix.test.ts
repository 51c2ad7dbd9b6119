import type { ChildProcess } from 'node:child_process';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { emailChannel } from 'intentbook/channels';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { freePort } from '../../support/postgres-server.ts';
import { ALICES } from '../../unit/accounts/accounts-fixture.ts';
import type { ChannelFixture } from './channel-fixture.ts';
import { authorization, retryingFixture, until } from './channel-fixture.ts';

/** Exim of Debian, which checks the syntax of headers. The parser is that of Python. */
const EXIM = '/usr/sbin/exim4';

function findObstacle(): string | undefined {
  if (process.getuid?.() !== 0) return 'Exim with its own configuration needs the user root';
  const missing = [EXIM, 'python3'].filter((name) => spawnSync('sh', ['-c', `command -v ${name}`]).status !== 0);
  return missing.length > 0 ? `${missing.join(', ')} not installed (packages exim4-daemon-light, python3)` : undefined;
}

interface ParsedMail {
  readonly headers: Readonly<Record<string, string>>;
  /** Violations of RFC 5322 and of MIME that the parser has found. */
  readonly defects: readonly string[];
  readonly type: string;
  readonly text: string;
}

const PARSER = `
import email, json, sys
from email import policy
mail = email.message_from_binary_file(open(sys.argv[1], 'rb'), policy=policy.default)
defects = [repr(each) for each in mail.defects]
for name, value in mail.items():
    defects += [name + ': ' + repr(each) for each in getattr(value, 'defects', [])]
body = mail.get_body(('plain',))
print(json.dumps({'headers': {name.lower(): str(value) for name, value in mail.items()}, 'defects': defects,
  'type': mail.get_content_type(), 'text': body.get_content()}))
`;

const parse = (file: string) =>
  JSON.parse(execFileSync('python3', ['-c', PARSER, file], { encoding: 'utf8' })) as ParsedMail;

const obstacle = findObstacle();

describe.skipIf(obstacle !== undefined)(
  `mail server of Debian${obstacle === undefined ? '' : ` (${obstacle})`}`,
  () => {
    let folder = '';
    let server: ChildProcess | undefined;
    let fixture: ChannelFixture;
    beforeAll(async () => {
      folder = mkdtempSync(join(tmpdir(), 'intentbook-exim-'));
      chmodSync(folder, 0o755);
      const port = await freePort();
      const [uid, gid] = ['-u', '-g'].map((flag) =>
        Number(execFileSync('id', [flag, 'Debian-exim'], { encoding: 'utf8' })),
      );
      for (const name of ['spool', 'log', 'mails']) {
        mkdirSync(join(folder, name));
        chownSync(join(folder, name), uid ?? 0, gid ?? 0);
      }
      const configuration = join(folder, 'exim.conf');
      writeFileSync(configuration, createConfiguration(folder, port));
      chmodSync(configuration, 0o644);
      server = spawn(EXIM, ['-C', configuration, '-bdf', '-q1m'], { stdio: 'ignore' });
      await until(() => canConnect(port));
      fixture = await retryingFixture(
        emailChannel({
          smtp: `smtp://127.0.0.1:${port}`,
          from: 'books@example.org',
          publicUrl: 'https://api.example.org',
        }),
      );
    });
    afterAll(async () => {
      await fixture?.[Symbol.asyncDispose]();
      if (server !== undefined) {
        server.kill();
        await once(server, 'exit');
      }
      rmSync(folder, { recursive: true, force: true });
    });

    /** Returns the parsed mails in the mailbox, oldest first, when there are so many. */
    async function readMails(count: number): Promise<ParsedMail[]> {
      const mailbox = join(folder, 'mails', 'new');
      const list = () => (spawnSync('test', ['-d', mailbox]).status === 0 ? readdirSync(mailbox).sort() : []);
      await until(() => list().length >= count);
      return list().map((name) => parse(join(mailbox, name)));
    }

    test('accepts the invitation and the notifications, whose headers have no defect', async () => {
      await fixture.subscribe('email', 'alice@example.net');
      const [invitation] = await readMails(1);
      expect(invitation).toMatchObject({ defects: [], type: 'text/plain' });
      expect(invitation?.headers['subject']).toBe('Confirm your notifications');
      const [, path = ''] =
        /https:\/\/api\.example\.org(\/accounts\/\S+token=[0-9a-f]{64})/.exec(invitation?.text ?? '') ?? [];
      expect((await fixture.http.send('POST', path)).status).toBe(200);

      await fixture.notify('1.5 WETH for 3000 USDC, “quoted”, ünïcode, 文字');
      const mail = (await readMails(2)).find(({ headers }) => headers['subject'] === 'Order filled');
      expect(mail).toMatchObject({ defects: [], type: 'text/plain' });
      const { headers = {}, text = '' } = mail ?? {};
      expect(text.split('\n')[0]).toBe('filled: 1.5 WETH for 3000 USDC, “quoted”, ünïcode, 文字');
      // RFC 5322, 3.6: exactly the fields that are required, and those of automatic mail and of lists.
      expect(headers['from']).toBe('books@example.org');
      expect(headers['to']).toBe('alice@example.net');
      expect(headers['message-id']).toMatch(/^<msg_[0-9a-f]{32}@example\.org>$/);
      expect(Number.isNaN(Date.parse(headers['date'] ?? ''))).toBe(false);
      expect(headers['auto-submitted']).toBe('auto-generated');
      // RFC 8058, 3.1: one HTTPS URI, and this value exactly.
      const [, link = ''] =
        /^<https:\/\/api\.example\.org(\/[^<>,\s]+)>$/.exec((headers['list-unsubscribe'] ?? '').trim()) ?? [];
      expect(headers['list-unsubscribe-post']).toBe('List-Unsubscribe=One-Click');
      expect(text).toContain(`To end these notifications, open: https://api.example.org${link}`);

      // RFC 8058, 3.2: a mail provider posts a form, without cookies or authorization.
      const form = { 'content-type': 'application/x-www-form-urlencoded' };
      const posted = await fixture.http.send('POST', link, { headers: form, body: 'List-Unsubscribe=One-Click' });
      expect(posted.status).toBe(200);
      const listed = await fixture.http.send('GET', `/accounts/${ALICES}/subscriptions`, {
        headers: await authorization(),
      });
      expect(listed.json()).toEqual([]);
    });

    test('has a text that Chromium shows as it is', async ({ skip }) => {
      const chromium = spawnSync('sh', ['-c', 'command -v chromium']).stdout.toString().trim();
      if (chromium === '') skip('chromium is not installed');
      const mails = await readMails(2);
      for (const [i, { text }] of mails.entries()) {
        const file = join(folder, `mail-${i}.txt`);
        writeFileSync(file, `\ufeff${text}`);
        const args = [
          '--headless',
          '--no-sandbox',
          '--disable-gpu',
          `--user-data-dir=${folder}/chromium`,
          '--dump-dom',
        ];
        const dom = execFileSync(chromium, [...args, `file://${file}`], {
          encoding: 'utf8',
          stdio: ['ignore', 'pipe', 'ignore'],
        });
        const shown = /<pre[^>]*>([\s\S]*)<\/pre>/.exec(dom)?.[1] ?? '';
        const decoded = shown.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&');
        expect(decoded.trim()).toBe(text.replaceAll('\r\n', '\n').trim());
      }
    });
  },
);

function canConnect(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}

/** A server that accepts all mail on loopback, rejects malformed headers, and stores it in one mailbox. */
const createConfiguration = (folder: string, port: number) => `
primary_hostname = mail.example.net
spool_directory = ${folder}/spool
log_file_path = ${folder}/log/%slog
pid_file_path = ${folder}/spool/exim.pid
daemon_smtp_ports = ${port}
local_interfaces = 127.0.0.1
tls_advertise_hosts =
rfc1413_query_timeout = 0s
acl_smtp_rcpt = accept
acl_smtp_data = check_headers
keep_environment =

begin acl
check_headers:
  require message = the headers are malformed
          verify = header_syntax
  accept

begin routers
mailbox:
  driver = accept
  transport = mailbox

begin transports
mailbox:
  driver = appendfile
  directory = ${folder}/mails
  maildir_format
  user = Debian-exim
  delivery_date_add
`;
