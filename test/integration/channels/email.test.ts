import assert from 'node:assert/strict';
import { emailChannel } from 'intentbook/channels';
import { describe, test } from 'vitest';
import { ALICES } from '../../unit/accounts/accounts-fixture.ts';
import { authorization, channelFixture, proof, retryingFixture, until } from './channel-fixture.ts';
import { confirmationOf, mailRecipient } from './receivers.ts';

const PATH = `/accounts/${ALICES}/subscriptions`;
const LOGIN = { user: 'books', pass: 'p%40ssw0rd-hush' };

// Loaded before the tests, whose calls have a deadline of 200 ms.
await import('nodemailer');

describe('email channel', () => {
  test('sends after its confirmation link was opened once, and names the event', async () => {
    await using recipient = await mailRecipient();
    await using fixture = await retryingFixture(recipient.channel);
    const created = await fixture.subscribe('email', 'Alice@EXAMPLE.net');
    assert.deepEqual([created['state'], created['target']], ['pending', 'alice@example.net']);
    assert.ok(!('secret' in created) && !('confirm' in created));
    await fixture.notify('before');
    const [invitation = ''] = recipient.mails;
    assert.match(invitation, /^To: alice@example\.net\r$/m);
    const link = confirmationOf(invitation);
    // Mail scanners open links. Only the button of the page confirms.
    for (const method of ['GET', 'HEAD'] as const) assert.equal((await fixture.http.send(method, link)).status, 200);
    await fixture.notify('early');
    assert.equal((await fixture.http.send('POST', link)).status, 200);
    assert.equal((await fixture.http.send('POST', link)).status, 200);
    await fixture.notify('after');
    await until(() => recipient.taken.length === 1);
    const mail = recipient.mails.at(-1) ?? '';
    assert.match(mail, /^Subject: Order filled\r$/m);
    assert.match(mail, /^From: books@example\.org\r$/m);
    assert.match(mail, /^Auto-Submitted: auto-generated\r$/m);
    assert.equal(recipient.taken[0]?.name, 'after', 'nothing is sent before the confirmation');
  });

  test('sends one invitation to an address at a time', async () => {
    await using recipient = await mailRecipient();
    await using fixture = await channelFixture(recipient.channel);
    await fixture.subscribe('email', 'alice@example.net');
    // Mail servers ignore the case, so the second form is the same mailbox.
    for (const target of ['alice@example.net', 'ALICE@example.net']) {
      const body = await proof('email', target, ['order_filled']);
      const answer = await fixture.http.send('POST', PATH, { body });
      assert.equal(answer.status, 429, answer.text);
    }
    await until(() => recipient.mails.length === 1);
  });

  test('contains a link and headers that end the notifications', async () => {
    await using recipient = await mailRecipient();
    await using fixture = await channelFixture(recipient.channel);
    await recipient.subscribe(fixture);
    await fixture.notify('one');
    await until(() => recipient.taken.length === 1);
    // Some mail servers sign a header wrongly whose value begins on the second line.
    assert.match(recipient.mails.at(-1) ?? '', /^List-Unsubscribe: <\S+>\r$/m);
    const mail = (recipient.mails.at(-1) ?? '').replace(/=\r\n/g, '').replace(/=3D/g, '=').replace(/\r\n /g, ' ');
    assert.match(mail, /^List-Unsubscribe-Post: List-Unsubscribe=One-Click\r$/m);
    const [, link = ''] = /^List-Unsubscribe:\s+<https:\/\/api\.example\.org([^>]+)>\r$/m.exec(mail) ?? [];
    assert.ok(mail.includes(`open: https://api.example.org${link}`), mail);
    const list = async () =>
      (await fixture.http.send('GET', PATH, { headers: await authorization() })).json() as unknown[];

    for (const method of ['GET', 'HEAD'] as const) assert.equal((await fixture.http.send(method, link)).status, 200);
    const forged = link.replace(/token=.*/, `token=${'0'.repeat(32)}`);
    assert.equal((await fixture.http.send('POST', forged)).status, 404);
    assert.equal((await list()).length, 1);
    assert.equal((await fixture.http.send('POST', link)).status, 200);
    assert.deepEqual(await list(), []);
  });

  test('authenticates at the mail server without leaking the password', async () => {
    await using recipient = await mailRecipient({ ...LOGIN, pass: decodeURIComponent(LOGIN.pass) });
    const { port } = recipient as unknown as { port: number }; // of its port
    const smtp = `smtp://${LOGIN.user}:${LOGIN.pass}@127.0.0.1:${port}`;
    const rest = { from: 'books@example.org', publicUrl: 'https://api.example.org' };
    await using fixture = await retryingFixture(emailChannel({ smtp, ...rest }));
    await fixture.subscribe('email', 'alice@example.net');
    await until(() => recipient.mails.length === 1);

    await using wrong = await channelFixture(emailChannel({ smtp: smtp.replace('hush', 'wrong'), ...rest }));
    const answer = await wrong.http.send('POST', PATH, { body: await proof('email', 'a@b.org', ['order_filled']) });
    assert.deepEqual([answer.status, answer.json()], [503, { message: 'The confirmation could not be sent' }]);
    assert.ok(wrong.failures.length > 0);
    assert.doesNotMatch(wrong.failures.map((failure) => `${(failure as Error).message}`).join(), /ssw0rd/);
    const listed = await wrong.http.send('GET', PATH, { headers: await authorization() });
    assert.deepEqual(listed.json(), [], 'a subscription without a confirmation mail is not stored');
  });

  test('removes a subscription of an unknown mailbox but not of a full one', async () => {
    await using recipient = await mailRecipient();
    await using fixture = await channelFixture(recipient.channel);
    await recipient.subscribe(fixture);
    const list = async () =>
      (await fixture.http.send('GET', PATH, { headers: await authorization() })).json() as unknown[];
    recipient.rejection = { code: 452, text: '4.2.2 the mailbox of alice is full' };
    await fixture.notify('one');
    await until(async () => (await fixture.accounts.deliveries.list({ state: 'dead' })).length === 1);
    const [dead] = await fixture.accounts.deliveries.list({ state: 'dead' });
    assert.equal(dead?.error, 'the mail server responded with 452');
    assert.equal((await list()).length, 1);
    recipient.rejection = { code: 550, text: '5.1.1 no such user' };
    await fixture.notify('two');
    await until(async () => (await list()).length === 0);
  });

  test.each([
    'alice',
    'alice@',
    '@example.org',
    'a b@example.org',
    'alice@example.org, bob@example.org',
    'alice@example.org\r\nBcc: bob@example.org',
    'Alice <alice@example.org>',
    '"alice"@example.org',
    `${'a'.repeat(65)}@example.org`,
    'alice@exa_mple..org',
    'alice@[127.0.0.1]',
  ])('rejects the address %j', async (target) => {
    await using recipient = await mailRecipient();
    assert.equal(recipient.channel.parseTarget(target), undefined);
  });

  test('sends to the ASCII form of an internationalised domain', () => {
    const channel = emailChannel({ smtp: 'smtp://a', from: 'b@c.org', publicUrl: 'https://d' });
    assert.equal(channel.parseTarget('Jörg@example.org'), undefined);
    assert.equal(channel.parseTarget('jo@Bücher.example'), 'jo@xn--bcher-kva.example');
  });

  test.each([
    [{ smtp: 'http://me:hush@a' }, /smtp must be an smtp/],
    [{ from: 'me' }, /from must be an e-mail address/],
    [{ publicUrl: 'api.example.org' }, /publicUrl must be an http/],
    [{ form: 'x' }, /unknown option "form".*from/],
  ])('rejects the options %o without naming a secret', (changes, message) => {
    const options = { smtp: 'smtp://me:hush@a', from: 'b@c.org', publicUrl: 'https://d', ...changes };
    assert.throws(
      () => emailChannel(options),
      (error: Error) => message.test(error.message) && !error.message.includes('hush'),
    );
  });
});
