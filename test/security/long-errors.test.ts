import { viemSource } from 'intentbook/viem';
import { expect, test } from 'vitest';
import { formatReason } from '../../apps/solver/format-reason.ts';

/** A message that takes minutes to search if the time is quadratic. */
const LONG = 'a'.repeat(1_000_000);

const signal = new AbortController().signal;

test('a long error of a node is shortened in linear time, without its URL', async () => {
  const request = async () => {
    throw Object.assign(new Error('failed'), { shortMessage: 'HTTP https://node.test/key', details: LONG });
  };
  const began = performance.now();
  const error = await viemSource({ request })
    .head({ signal })
    .catch((cause: unknown) => cause);
  expect(performance.now() - began).toBeLessThan(1_000);
  expect(String(error)).toMatch(/^NodeError: eth_getBlockByNumber: HTTP … a+$/);
  expect(String(error).length).toBeLessThan(400);
});

test('a long error of a solver engine is shortened in linear time, without its URL', () => {
  const began = performance.now();
  const reason = formatReason(new Error(`https://node.test/key ${LONG}`));
  expect(performance.now() - began).toBeLessThan(1_000);
  expect(reason).toMatch(/^… a{498}$/);
});
