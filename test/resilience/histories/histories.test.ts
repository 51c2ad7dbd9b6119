import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { checkLinearizability } from 'intentbook/testing';
import { expect, test } from 'vitest';
import { createSeededRandom } from '../../simulation/machine/random.ts';
import { startCluster } from './cluster.ts';
import { startFaultProxy } from './fault-proxy.ts';
import { OWNER_MODEL } from './owner.ts';
import { checkHistories } from './record.ts';

test('histories of servers on PostgreSQL are linearizable during faults', async () => {
  await using cluster = await startCluster();
  const faults: string[] = [];
  const random = createSeededRandom('histories').fraction;
  const totals = await checkHistories(cluster, random, { count: 15 }, (fault) => faults.push(fault));
  expect(totals.histories).toBe(15);
  expect(totals.disturbed).toBeGreaterThan(0);
  expect(faults.length).toBeGreaterThan(0);
}, 120_000);

test('a history with a lost order, an exceeded quota or a stale read is not linearizable', () => {
  const submit = (order: number, start: number, output: string) => ({
    input: { op: 'submit', order } as const,
    output,
    start,
    end: start + 1,
  });
  const read = (order: number, start: number, output: string) => ({
    input: { op: 'read', order } as const,
    output,
    start,
    end: start + 1,
  });
  const check = (history: Parameters<typeof checkLinearizability<object, object, string>>[1]) =>
    checkLinearizability(OWNER_MODEL as never, history).status;
  expect(check([submit(1, 1, 'accepted'), read(1, 3, 'open')])).toBe('linearizable');
  expect(check([submit(1, 1, 'accepted'), read(1, 3, 'none')])).toBe('not linearizable');
  expect(check([submit(1, 1, 'failed'), read(1, 3, 'open')])).toBe('not linearizable');
  const three = [1, 2, 3].map((order) => submit(order, 3 * order, 'accepted'));
  expect(check(three)).toBe('not linearizable');
  expect(check([submit(0, 1, 'accepted'), submit(4, 3, 'accepted'), read(0, 5, 'open')])).toBe('not linearizable');
});

test('fault proxy forwards split and delayed chunks completely, and cuts connections', async () => {
  const echo = createServer((socket) => socket.on('error', () => {}).pipe(socket)).listen(0, '127.0.0.1');
  await once(echo, 'listening');
  const proxy = await startFaultProxy((echo.address() as { port: number }).port);
  proxy.delay = () => 1;
  proxy.split = (size) => Math.ceil(size / 2);
  const socket = connect(proxy.port, '127.0.0.1');
  let received = '';
  socket.setEncoding('utf8').on('data', (text: string) => {
    received += text;
  });
  for (const text of ['one ', 'two ', 'three']) socket.write(text);
  while (received.length < 13) await once(socket, 'data');
  expect(received).toBe('one two three');
  proxy.cut();
  await once(socket, 'close');
  await proxy.close();
  echo.close();
});
