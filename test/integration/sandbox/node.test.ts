import { EventEmitter } from 'node:events';
import { PassThrough } from 'node:stream';
import { createSandbox } from 'intentbook/sandbox';
import { describe, expect, it } from 'vitest';
import { readStartup } from '../../../apps/sandbox/anvil.ts';

/** Creates a process that is controlled by the test. */
function createProcess() {
  return Object.assign(new EventEmitter(), { stdout: new PassThrough(), stderr: new PassThrough() });
}

describe('start of a node', () => {
  it('reads the output until the node listens, and keeps nothing of the log that follows', async () => {
    const child = createProcess();
    const output = readStartup(child);
    child.stdout.write('(0) 0x00\nListen');
    child.stdout.write('ing on 127.0.0.1:8545\n');
    expect(await output).toContain('Listening on 127.0.0.1:8545');
    const listeners = [child.stdout, child.stderr].map((stream) => stream.listenerCount('data'));
    expect(listeners).toEqual([0, 0]);
  });

  it('names the option of a port that is in use', async () => {
    await using first = await createSandbox();
    const rpcPort = Number(new URL(first.rpcUrl ?? '').port);
    await expect(createSandbox({ rpcPort })).rejects.toThrow('the JSON-RPC port is in use, choose another (rpcPort');
    const port = Number(new URL(first.url).port);
    await expect(createSandbox({ port })).rejects.toThrow(`the port ${port} is in use, choose another (port, --port)`);
  });

  it('rejects with the end of the output if the node exits', async () => {
    const child = createProcess();
    const output = readStartup(child);
    child.stderr.write('address already in use');
    await new Promise((resolve) => setImmediate(resolve));
    child.emit('exit', 1);
    await expect(output).rejects.toThrow('anvil exited with code 1: address already in use');
  });
});
