import { existsSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { nodeHandler } from 'intentbook/node-http';
import { afterAll, describe, expect, it } from 'vitest';
import { createHardenedServer } from '../../../apps/server/http/hardened-server.ts';

/** A folder with the repository uNetworking/h1spec, whose cases are read and not copied. */
const FOLDER = process.env['TEST_H1SPEC'] ?? '';
const FILE = `${FOLDER}/http_test.ts`;

interface Case {
  readonly request: string;
  readonly description: string;
  /** Ranges of statuses. -1 for a server that waits for the rest. */
  readonly expectedStatus: readonly (readonly [number, number])[];
  readonly expectedTimeout?: boolean;
  readonly expectedBody?: string;
}

/** The literal of the cases. It has no types and no names. */
function readCases(): readonly Case[] {
  const [, literal = '[]'] = /testCases: TestCase\[\] = (\[[\s\S]*?\n\]);/.exec(readFileSync(FILE, 'utf8')) ?? [];
  return new Function(`return ${literal}`)() as readonly Case[]; // the format of that repository
}

/** The suite requires a server that returns the body of each request. */
const server = createHardenedServer(
  nodeHandler({
    async handle({ body }) {
      const parts: Uint8Array[] = [];
      if (body.type === 'chunks') for await (const chunk of body.chunks) parts.push(chunk);
      return { status: 200, headers: { 'content-type': 'text/plain' }, body: Buffer.concat(parts).toString() };
    },
  }),
);
const port = Number(new URL(await server.listen(0, '127.0.0.1')).port);
afterAll(() => server.close(0));

/** Sends a request, and returns what the server sends. A request that is not complete is ended after it. */
function send({ request, expectedTimeout = false }: Case): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1');
    let text = '';
    socket.on('error', reject);
    socket.on('close', () => resolve(text));
    socket.on('data', (chunk) => {
      text += chunk;
      // A response to `Expect` precedes the final one.
      if (/\r\n\r\n/.test(text.replace(/^HTTP\/1\.1 100 .*\r\n\r\n/, ''))) socket.end();
    });
    if (expectedTimeout) socket.end(request);
    else socket.write(request);
  });
}

describe.skipIf(!existsSync(FILE))('a request of h1spec', () => {
  it.each(existsSync(FILE) ? readCases() : [])('$description', async (each) => {
    const text = await send(each);
    const [status = 0] = [...text.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, digits]) => Number(digits));
    const ranges = each.expectedTimeout === true ? [[400, 400]] : each.expectedStatus;
    const isExpected = ranges.some(([least = 0, most = 0]) => status >= least && status <= most);
    expect([isExpected, status]).toEqual([true, status]);
    if (status === 200 && each.expectedBody !== undefined)
      expect(text.endsWith(`\r\n\r\n${each.expectedBody}`)).toBe(true);
  });
});
