import { expect, test } from 'vitest';
import { temporaryFile } from '../../integration/stores/temporary.ts';
import { soak } from './soak.ts';

test('under load, and while it is killed and restarted, a server gives no wrong answer', async () => {
  using file = temporaryFile();
  const report = await soak({ seed: 1, path: file.path, measure: 2000, milliseconds: 8000, restarts: 2 });
  expect(report.wrong).toEqual([]);
  expect(report.orders).toBeGreaterThan(0);
  expect(Object.keys(report.latencies)).toEqual(expect.arrayContaining(['get', 'place']));
});
