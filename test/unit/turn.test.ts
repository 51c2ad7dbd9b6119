import { expect, test } from 'vitest';
import { nextTurn } from '../../src/turn.ts';

test('a turn is one of the event loop: others have theirs in between', async () => {
  let others = 0;
  let running = true;
  const other = () => {
    others++;
    if (running) setImmediate(other);
  };
  setImmediate(other);
  for (let i = 0; i < 100; i++) await nextTurn();
  running = false;
  expect(others).toBeGreaterThanOrEqual(50); // two turns may share one of the loop's
});
