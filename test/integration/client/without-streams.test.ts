import { Readable } from 'node:stream';
import { createClient } from 'intentbook/client';
import { describe, expect, it } from 'vitest';

const UID = `0x${'12'.repeat(56)}`;
const ACCOUNT = `0x${'34'.repeat(20)}`;

/** Creates a client whose responses have another body than a web stream, and the URLs that it requests. */
function createClientWith(body: unknown, content: unknown, status = 200) {
  const urls: string[] = [];
  async function send(url: string): Promise<Response> {
    urls.push(url);
    // Reads with `json` work in each of these environments.
    return Object.defineProperty(Response.json(content, { status }), 'body', { value: body });
  }
  return { client: createClient('http://localhost', { fetch: send, maxDelay: 1 }), urls };
}

describe.each([
  ['absent, as in React Native', undefined],
  ['a stream of Node.js, as of node-fetch', Readable.from([])],
])('client, if the body of a response is %s', (_, body) => {
  it('returns the UID of an order that the server has accepted', async () => {
    const { client } = createClientWith(body, UID, 201);
    expect(await client.submit({} as never)).toBe(UID);
  });

  it('throws the error of the server', async () => {
    const { client } = createClientWith(body, { errorType: 'DuplicatedOrder', description: 'exists' }, 400);
    await expect(client.submit({} as never)).rejects.toMatchObject({ code: 'DuplicatedOrder', message: 'exists' });
  });

  it('ends a mirror and a stream of notifications after one request', async () => {
    const { client, urls } = createClientWith(body, []);
    const message = 'the response has no stream';
    const signal = AbortSignal.timeout(2_000);
    await expect(client.mirror({}, { signal })).rejects.toThrow(message);
    const notifications = client.account(ACCOUNT).notifications.stream({ signal })[Symbol.asyncIterator]();
    await expect(notifications.next()).rejects.toThrow(message);
    expect(urls).toHaveLength(2);
  });
});
