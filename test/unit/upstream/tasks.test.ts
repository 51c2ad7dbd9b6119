import { memoryStore } from 'intentbook/memory';
import { expect, test } from 'vitest';
import { createTasks, makeDue, put } from '../../../src/upstream/tasks.ts';
import { manualClock } from '../../support/clock.ts';
import { SEPOLIA_DOMAIN } from '../../support/orders.ts';

test('a task that is written meanwhile is made due as well', async () => {
  const store = memoryStore();
  const clock = manualClock(5_000);
  await store.open({ domain: SEPOLIA_DOMAIN, clock });
  const tasks = createTasks(store);
  await tasks.write([put('order', 'a', 9_000, { ecdsa: true }, 0)]);
  let isFirst = true;
  const contended: typeof tasks = {
    ...tasks,
    async get(kind, keys) {
      const found = await tasks.get(kind, keys);
      // A read that began earlier ends now.
      if (isFirst) await tasks.write([put('order', 'a', 50_000, { ecdsa: false }, found[0]?.version ?? 0)]);
      isFirst = false;
      return found;
    },
  };
  await makeDue({ tasks: contended, clock }, 'order', ['a', 'b', 'a'], { ecdsa: true });
  expect((await tasks.due('order', 5_001, 10)).map(({ key, value }) => [key, value.ecdsa])).toEqual([
    ['a', false],
    ['b', true],
  ]);
});
