import assert from 'node:assert/strict';
import type { Notification } from 'intentbook/accounts';
import { NOTIFICATION_TYPES } from 'intentbook/accounts';
import { test } from 'vitest';
import { ALICES, accountFixture } from '../../unit/accounts/accounts-fixture.ts';
import { MESSAGE_ROWS, tokens } from '../../unit/accounts/message-rows.ts';
import { retryingFixture, until } from './channel-fixture.ts';
import { botRecipient, mailRecipient, pushRecipient, readMail, webhookRecipient } from './receivers.ts';

/** Returns the notifications of all rows, with ids that differ, for Alice. */
async function collect(): Promise<Notification[]> {
  const all: Notification[] = [];
  for (const { run, options, account = ALICES } of MESSAGE_ROWS) {
    await using fixture = await accountFixture({ tokens, ...options });
    await run(fixture);
    for (const each of await fixture.listNotifications(account)) {
      all.push({ ...each, id: `row ${all.length}`, account: ALICES });
    }
  }
  return all;
}

test('each sentence is the same on every channel, in every case', async () => {
  await using webhook = await webhookRecipient();
  await using push = await pushRecipient();
  await using mail = await mailRecipient();
  await using bot = await botRecipient();
  const recipients = { webhook, push, mail, bot };
  await using fixture = await retryingFixture(...Object.values(recipients).map(({ channel }) => channel));
  const subscribe = async (channel: string, target: string) => fixture.subscribe(channel, target, NOTIFICATION_TYPES);
  for (const recipient of Object.values(recipients)) await recipient.subscribe({ ...fixture, subscribe });
  const invitations = mail.mails.length;

  const notifications = await collect();
  const sentences = new Set(MESSAGE_ROWS.flatMap(({ expected }) => expected.map(([, message]) => message)));
  assert.deepEqual(new Set(notifications.map(({ message }) => message)), sentences);
  await fixture.publish(notifications);
  const { length } = notifications;
  await until(() => [webhook, push, bot].every(({ taken }) => taken.length === length));
  await until(() => mail.mails.length === invitations + length);

  for (const { taken } of [webhook, push])
    assert.deepEqual(
      taken.map(({ content }) => content),
      notifications,
    );
  assert.deepEqual(
    bot.taken.map(({ content }) => content),
    notifications.map(({ message }) => message),
  );
  assert.deepEqual(
    mail.mails.slice(invitations).map((each) => readMail(each).text.split('\n')[0]),
    notifications.map(({ message }) => message),
  );
  assert.deepEqual(fixture.failures, []);
});
