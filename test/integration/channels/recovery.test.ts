import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import type { ChannelFixture } from './channel-fixture.ts';
import { retryingFixture, until } from './channel-fixture.ts';
import type { Recipient } from './receivers.ts';
import { botRecipient, mailRecipient, pushRecipient, webhookRecipient } from './receivers.ts';

const CHANNELS: readonly (readonly [string, () => Promise<Recipient>])[] = [
  ['webhook', webhookRecipient],
  ['email', mailRecipient],
  ['webpush', pushRecipient],
  ['telegram', botRecipient],
];

/** Each channel with its start and end. */
const TROUBLES: readonly (readonly [string, (recipient: Recipient, begins: boolean) => Promise<void> | void])[] = [
  [
    'rejects',
    (recipient, begins) => {
      recipient.behaviour = begins ? 'rejects' : 'takes';
    },
  ],
  [
    'hangs',
    (recipient, begins) => {
      recipient.behaviour = begins ? 'hangs' : 'takes';
    },
  ],
  ['accepts no connection', (recipient, begins) => (begins ? recipient.down() : recipient.up())],
];

const pending = ({ accounts }: ChannelFixture) => accounts.deliveries.list({ state: 'pending' });

describe.each(CHANNELS)('delivery to a receiver of %s', (name, make) => {
  test('arrives in order and under constant ids after rejections, timeouts and an outage', async () => {
    await using recipient = await make();
    await using fixture = await retryingFixture(recipient.channel);
    await recipient.subscribe(fixture);
    const expected: string[] = [];
    if (name === 'telegram') await started(fixture, recipient);
    recipient.taken.splice(0);
    for (const [trouble, change] of TROUBLES) {
      await change(recipient, true);
      const names = [`${trouble} a`, `${trouble} b`];
      await fixture.notify(...names);
      await until(async () => (await pending(fixture)).some(({ attempts }) => attempts > 1));
      assert.equal(recipient.taken.length, expected.length, 'nothing has arrived meanwhile');
      await change(recipient, false);
      expected.push(...names);
      // Each message can arrive twice, so that only distinct ones are counted.
      await until(async () => (await pending(fixture)).length === 0);
      const seen = recipient.taken.map((each) => each.name).filter((each, i, all) => each !== all[i - 1]);
      recipient.taken.splice(0, recipient.taken.length, ...expected.map((each) => found(recipient, each)));
      assert.deepEqual(seen, expected);
    }
    const ids = recipient.taken.map(({ id }) => id);
    const distinct = name === 'telegram' ? 1 : expected.length;
    assert.equal(new Set(ids).size, distinct);
    assert.equal(ids.includes(undefined), name === 'telegram');
    assert.deepEqual(await fixture.accounts.deliveries.list({ state: 'dead' }), []);
  });
});

/** Checks that each notification was always delivered under one id. */
function found({ taken }: Recipient, name: string) {
  const [first, ...others] = taken.filter((each) => each.name === name);
  assert.ok(first);
  for (const { id } of others) assert.equal(id, first.id);
  return first;
}

/** The user has started the bot. */
async function started(fixture: ChannelFixture, { taken }: Recipient): Promise<void> {
  let n = 0;
  await until(async () => {
    await fixture.notify(`hello ${n++}`);
    return taken.length > 0;
  });
  await until(async () => (await pending(fixture)).length === 0);
}
