import { describe, expect, test } from 'vitest';
import { findContainerObstacle, runContainers, TAKEOVERS } from './containers.ts';

const obstacle = findContainerObstacle();
const reason = obstacle === undefined ? '' : ` (skipped: ${obstacle})`;

describe('two containers with an SQLite file in separate namespaces', () => {
  test.skipIf(obstacle !== undefined).concurrent.each(TAKEOVERS)(
    `have one writer, and lose no acknowledged order: %s${reason}`,
    { timeout: 120_000 },
    async (takeover) => {
      const { acknowledged, problems } = await runContainers(takeover, 20);
      expect(problems).toEqual([]);
      expect(acknowledged).toBeGreaterThanOrEqual(40);
    },
  );
});
