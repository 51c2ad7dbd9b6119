import type { RpcClient } from 'intentbook/viem';
import { sanctionsOracle } from 'intentbook/viem';
import { concatHex, toHex } from 'viem';
import { expect, test } from 'vitest';

const ORACLE = '0x40c57923924b5c5c5455c48d93317139addac8fb';

test('sanctions oracle queries few addresses again although there are more than the cache contains', async () => {
  let requests = 0;
  const response = concatHex([1n, 32n, 1n, 21_000n, 0n].map((value) => toHex(value, { size: 32 })));
  const node: RpcClient = {
    async request() {
      requests++;
      return response;
    },
  };
  let now = 0;
  const isDenied = sanctionsOracle(node, ORACLE, { cacheTtl: 10, now: () => now });
  const parties = Array.from({ length: 100_200 }, (_, n) => toHex(n + 1, { size: 20 }));
  const { signal } = new AbortController();
  const query = async () => {
    requests = 0;
    for (const party of parties) await isDenied(party, { signal });
    return requests;
  };
  expect([await query(), await query()]).toEqual([100_200, 200]);
  now = 10_000;
  expect([await query(), await query()]).toEqual([100_200, 200]);
});
