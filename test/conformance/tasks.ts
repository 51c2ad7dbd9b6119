import assert from 'node:assert/strict';
import type { Store, TaskChange } from 'intentbook';
import type { Rule } from './harness.ts';
import { range } from './orders.ts';

const KIND = 'relay';

const change = (key: string, due: number, version?: number): TaskChange => ({
  kind: KIND,
  key,
  to: { due, value: `value of ${key} at ${due}` },
  ...(version === undefined ? {} : { version }),
});

const read = async (store: Store, ...keys: string[]) =>
  (await store.tasks.get(KIND, keys)).map(({ key, due, version }) => [key, due, version]).sort();

export const TASKS: readonly Rule[] = [
  {
    name: 'creates, changes and deletes a task, and counts its versions',
    async run({ store }) {
      assert.deepEqual(await store.tasks.write([change('a', 10), change('b', 20, 0)]), [true, true]);
      assert.deepEqual(await store.tasks.write([change('a', 30), change('b', 40, 1)]), [true, true]);
      assert.deepEqual(await store.tasks.get(KIND, ['a', 'x', 'a']), [
        { kind: KIND, key: 'a', due: 30, version: 2, value: 'value of a at 30' },
      ]);
      assert.deepEqual(await store.tasks.write([{ kind: KIND, key: 'a', to: null }]), [true]);
      assert.deepEqual(await read(store, 'a', 'b'), [['b', 40, 2]]);
      assert.equal(await store.tasks.count(KIND), 1);
      assert.equal(await store.tasks.count('other'), 0);
    },
  },
  {
    name: 'changes no task whose version differs, and every other one of the step',
    async run({ store }) {
      await store.tasks.write([change('a', 10), change('b', 20)]);
      const deletion = (key: string, version: number): TaskChange => ({ kind: KIND, key, version, to: null });
      const changes = [change('a', 11, 2), change('b', 21, 1), change('c', 31, 1), change('d', 41, 0)];
      assert.deepEqual(await store.tasks.write(changes), [false, true, false, true]);
      assert.deepEqual(await store.tasks.write([change('a', 12, 0), deletion('b', 1), deletion('d', 1)]), [
        false,
        false,
        true,
      ]);
      assert.deepEqual(await read(store, 'a', 'b', 'c', 'd'), [
        ['a', 10, 1],
        ['b', 21, 2],
      ]);
    },
  },
  {
    name: 'lists the due tasks of a kind, soonest first, then by key',
    async run({ store }) {
      await store.tasks.write([change('b', 20), change('c', 10), change('a', 20), change('d', 21)]);
      await store.tasks.write([{ kind: 'other', key: 'e', to: { due: 1, value: '' } }]);
      const due = async (before: number, limit: number) =>
        (await store.tasks.due(KIND, before, limit)).map(({ key }) => key);
      assert.deepEqual(await due(21, 10), ['c', 'a', 'b']);
      assert.deepEqual(await due(21, 2), ['c', 'a']);
      assert.deepEqual(await due(10, 10), []);
      await store.tasks.write([change('c', 30)]);
      assert.deepEqual(await due(31, 10), ['a', 'b', 'd', 'c']);
    },
  },
  {
    name: 'keeps tasks when the store is opened again, byte for byte',
    skip: ({ durable }) => (durable ? undefined : 'the store is not durable'),
    async run({ store, open }) {
      const value = JSON.stringify({ text: 'ä "quoted" \\ \u0001 漢 😀' });
      await store.tasks.write([{ kind: KIND, key: 'a', to: { due: 2 ** 45, value } }]);
      await store.close();
      const [task] = await (await open()).tasks.get(KIND, ['a']);
      assert.deepEqual(task, { kind: KIND, key: 'a', due: 2 ** 45, version: 1, value });
    },
  },
  {
    name: 'lets one of several concurrent changes of a version succeed',
    async run({ store, writers }) {
      await store.tasks.write([change('a', 10)]);
      const outcomes = await Promise.all(
        range(12).map(async (n) => await writers[n % writers.length]?.tasks.write([change('a', n, 1)])),
      );
      assert.equal(outcomes.filter((outcome) => outcome?.[0] === true).length, 1);
      assert.equal((await store.tasks.get(KIND, ['a']))[0]?.version, 2);
      const created = await Promise.all(
        range(12).map(async (n) => await writers[n % writers.length]?.tasks.write([change('new', n, 0)])),
      );
      assert.equal(created.filter((outcome) => outcome?.[0] === true).length, 1);
    },
  },
];
