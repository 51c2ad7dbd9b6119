import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { Announcement } from 'intentbook';
import { memoryAccountStore } from 'intentbook/memory';
import { describe, test } from 'vitest';
import { parseCommand } from '../../../apps/cli/parse.ts';
import { cmsAnnouncements } from '../../../apps/server/books/cms.ts';
import type { Behaviour } from '../../integration/channels/channel-fixture.ts';
import { receiver } from '../../integration/channels/channel-fixture.ts';
import { accountFixture } from '../accounts/account-api-fixture.ts';

const ACCOUNT = `0x${'ab'.repeat(20)}` as const;
const PATH = `/accounts/${ACCOUNT}/notifications`;

const announcement = (id: number, at: number): Announcement => ({ id, at, message: `m${id}`, metadata: {} });

/** Creates an API with notifications of an account at these times, and with announcements. */
async function fixture(own: readonly number[], announcements: readonly Announcement[]) {
  const store = memoryAccountStore();
  const each = await accountFixture({ store, announcements: async () => announcements });
  const changes = own.map((at, n) => {
    const notification = { id: `id-${n}`, account: ACCOUNT, type: 'order_filled' as const };
    const body = { ...notification, message: 'filled', timestamp: new Date(at).toISOString(), metadata: {} };
    return { type: 'notify' as const, notification: { ...notification, at, body: JSON.stringify(body) } };
  });
  await store.notifications.append({ feed: 'test', after: null, through: 1, changes });
  return each;
}

const idsOf = (text: string) => (JSON.parse(text) as { id: string }[]).map(({ id }) => id);

describe('announcements', () => {
  test('are listed among the notifications of an account with the six keys of the contract', async () => {
    const { send } = await fixture([10, 30], [{ id: 7, at: 20, message: 'Hello', metadata: { title: 'News' } }]);
    const answer = await send('GET', PATH);
    assert.equal(answer.header('cache-control'), 'public, max-age=300');
    assert.deepEqual(idsOf(answer.text), ['id-1', 'cms-7', 'id-0']);
    assert.deepEqual((answer.json() as unknown[])[1], {
      id: 'cms-7',
      account: ACCOUNT,
      type: 'cms',
      message: 'Hello',
      timestamp: '1970-01-01T00:00:00.020Z',
      metadata: { title: 'News' },
    });
  });

  test.each<[string, unknown]>([
    ['a missing time', { id: 1, message: 'm', metadata: {} }],
    ['a time that is no date', { ...announcement(1, 0), at: Number.NaN }],
    ['a time before 1970', announcement(1, -1)],
    ['a fraction of a millisecond', announcement(1, 20.5)],
    ['a time beyond the digits of a cursor', announcement(1, 1e15)],
    ['an id that is text', { ...announcement(1, 20), id: '1' }],
    ['a message of another type', { ...announcement(1, 20), message: null }],
    ['metadata that is not JSON', { ...announcement(1, 20), metadata: { amount: 1n } }],
    ['metadata of another type', { ...announcement(1, 20), metadata: [] }],
    ['no members', null],
  ])('are left out and reported with %s', async (_, malformed) => {
    const { send, failures } = await fixture([10, 30], [announcement(7, 20), malformed as Announcement]);
    const answer = await send('GET', PATH);
    assert.deepEqual([answer.status, idsOf(answer.text)], [200, ['id-1', 'cms-7', 'id-0']]);
    assert.deepEqual(failures.map(String), ['TypeError: 1 announcements have a malformed id, at, message or metadata']);
  });

  test('are listed once if the source repeats them', async () => {
    const { send, failures } = await fixture([10], [announcement(7, 20), announcement(7, 20)]);
    const answer = await send('GET', PATH);
    assert.deepEqual([answer.status, idsOf(answer.text), failures], [200, ['cms-7', 'id-0'], []]);
  });

  test('are missing if the source returns no list', async () => {
    const { send, failures } = await fixture([10], undefined as unknown as Announcement[]);
    const answer = await send('GET', PATH);
    assert.deepEqual([answer.status, idsOf(answer.text)], [200, ['id-0']]);
    // A cache must not keep the short list.
    assert.equal(answer.header('cache-control'), 'no-store');
    const complete = await fixture([10], []);
    assert.equal((await complete.send('GET', PATH)).header('cache-control'), 'public, max-age=300');
    assert.deepEqual(failures.map(String), ['TypeError: the announcements must be a list, got undefined']);
  });

  test('are listed once across pages', async () => {
    const at = fc.nat(4);
    const lists = fc.record({
      own: fc.array(at, { maxLength: 8 }),
      others: fc.array(at, { maxLength: 8 }),
      limit: fc.integer({ min: 1, max: 5 }),
    });
    await fc.assert(
      fc.asyncProperty(lists, async ({ own, others, limit }) => {
        const announcements = others.map((each, id) => announcement(id, each));
        const { accounts } = await fixture(own, announcements);
        const whole = (await accounts.notifications.list(ACCOUNT)).notifications.map(({ id }) => id);
        assert.equal(new Set(whole).size, own.length + others.length);
        const paged: string[] = [];
        for (let cursor: string | undefined, more = true; more; ) {
          const query = { limit, ...(cursor === undefined ? {} : { cursor }) };
          const page = await accounts.notifications.list(ACCOUNT, query);
          paged.push(...page.notifications.map(({ id }) => id));
          cursor = page.next;
          more = cursor !== undefined;
        }
        assert.deepEqual(paged, whole);
        const times = whole.map((id) => (id.startsWith('cms-') ? others : own)[Number(id.split('-')[1])] ?? -1);
        assert.deepEqual(
          times,
          [...times].sort((a, b) => b - a),
        );
      }),
      { numRuns: 100 },
    );
  });
});

describe('announcement source of a CMS', () => {
  const item = {
    id: 7,
    account: ACCOUNT,
    title: 'News',
    description: 'Hello',
    url: null,
    thumbnail: 'https://a/b.png',
  };
  const call = { signal: new AbortController().signal };

  test('is requested with its key, and its items are parsed', async () => {
    await using system = await receiver();
    let sentKey: unknown;
    system.behave((_, response) => {
      sentKey = system.received.at(-1)?.headers.authorization;
      response.end(JSON.stringify([{ ...item, createdAt: '2024-01-02T03:04:05.006Z' }]));
    });
    const found = await cmsAnnouncements({ url: `${system.url}/api/?site=a`, apiKey: 'hush' })(ACCOUNT, call);
    assert.equal(system.received[0]?.path, `/api/notification-list/${ACCOUNT}?site=a`);
    assert.equal(sentKey, 'Bearer hush');
    assert.deepEqual(found, [
      {
        id: 7,
        at: Date.UTC(2024, 0, 2, 3, 4, 5, 6),
        message: 'Hello',
        metadata: { title: 'News', thumbnail: 'https://a/b.png' },
      },
    ]);
  });

  test.each<[string, Behaviour]>([
    ['rejects', 401],
    ['returns invalid JSON', (_, response) => response.end('<html>')],
    ['returns another object', (_, response) => response.end('{"data":[]}')],
    ['returns items of another kind', (_, response) => response.end(JSON.stringify([{ ...item, createdAt: 'soon' }]))],
    ['redirects', (_, response) => response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end()],
  ])('that %s is left out of the list and reported', async (_name, behaviour) => {
    await using system = await receiver();
    system.behave(behaviour);
    const { send, failures } = await accountFixture({
      announcements: cmsAnnouncements({ url: system.url, apiKey: 'hush' }),
    });
    const answer = await send('GET', PATH);
    assert.deepEqual([answer.status, answer.json()], [200, []]);
    assert.equal(failures.length, 1);
  });

  test.each([
    [{ CMS_BASE_URL: 'https://a' }, /CMS_BASE_URL requires CMS_API_KEY/],
    [{ CMS_BASE_URL: 'cms', CMS_API_KEY: 'k' }, /CMS_BASE_URL must be/],
  ])('rejects %o', (env, message) => {
    assert.throws(() => parseCommand(['serve'], env), message);
  });

  test.each([
    [
      { CMS_BASE_URL: 'https://a', CMS_API_KEY: 'k' },
      { url: 'https://a', apiKey: 'k' },
    ],
    [{ CMS_BASE_URL: 'https://a', CMS_API_KEY: 'k', CMS_ENABLED: 'false' }, undefined],
    [{ CMS_API_KEY: 'k' }, undefined],
  ])('is named by %o', (env, cms) => {
    const command = parseCommand(['serve'], env);
    assert.ok(command.name === 'serve');
    assert.deepEqual(command.options.cms, cms);
  });
});
