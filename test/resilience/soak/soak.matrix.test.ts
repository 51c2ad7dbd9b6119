import { expect, test } from 'vitest';
import { temporaryFile } from '../../integration/stores/temporary.ts';
import { soak } from './soak.ts';

test('server under load with kills and restarts returns no wrong response', async () => {
  using file = temporaryFile();
  const report = await soak({ seed: 1, path: file.path, measure: 2000, milliseconds: 8000, restarts: 2 });
  expect(report.wrong).toEqual([]);
  expect(report.orders).toBeGreaterThan(0);
  expect(Object.keys(report.latencies)).toEqual(expect.arrayContaining(['get', 'place']));
});
