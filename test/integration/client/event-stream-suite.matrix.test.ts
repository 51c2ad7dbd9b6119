import { existsSync } from 'node:fs';
import { createParser } from 'eventsource-parser';
import { describe, expect, it } from 'vitest';
import { readEvents, type ServerEvent } from '../../../adapters/client/event-stream.ts';
import type { Sender } from '../../../adapters/client/http.ts';

/** A folder with the repository rexxars/eventsource-parser, whose streams are used and not copied. */
const FOLDER = process.env['TEST_EVENTSOURCE_PARSER'] ?? '';
const FILE = `${FOLDER}/test/fixtures.ts`;
const isPresent = existsSync(FILE);

type Fixture = (...args: readonly unknown[]) => Promise<void>;
const FIXTURES: Readonly<Record<string, Fixture>> = isPresent ? await import(FILE) : {};

/** Events of the parser, which dispatches those with data, and gives each one its last id. */
function readWithPeer(text: string): readonly object[] {
  const events: object[] = [];
  createParser({ onEvent: ({ id, event, data }) => events.push({ id, type: event ?? '', data }) }).feed(text);
  return events;
}

/** Events of the client, from a body in chunks of some bytes. */
async function readWithClient(bytes: Uint8Array, size: number): Promise<readonly object[]> {
  const end = new AbortController();
  let at = 0;
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      if (at >= bytes.length) {
        end.abort();
        controller.close();
      } else controller.enqueue(bytes.slice(at, at + size));
      at += size;
    },
  });
  const sender = { maxBytes: 1e9, open: async () => new Response(body) } as unknown as Sender; // the part that is used
  const events: ServerEvent[] = [];
  for await (const event of readEvents(sender, '/stream', {}, end.signal, {})) events.push(event);
  return events.map(({ id, type, data }) => ({ id: id === undefined ? undefined : String(id), type, data }));
}

/** Events with data. The server sends no others, and the client does not distinguish empty data from none. */
const withData = (events: readonly object[]) => events.filter((event) => 'data' in event && event.data !== '');

/** Some streams have the bytes of a byte order mark as characters. */
const toBytes = (text: string) => Buffer.from(text.replaceAll('\u00EF\u00BB\u00BF', '\uFEFF'));

const CASES = Object.entries(FIXTURES)
  .filter(([name]) => name.startsWith('get'))
  .flatMap(([name, fixture]) =>
    (name.includes('Huge') ? [65_536] : [1, 2, 7, 65_536]).map((size) => ({ name, size, fixture })),
  );

describe.skipIf(!isPresent)('a stream of eventsource-parser', () => {
  it.each(CASES)('$name in chunks of $size bytes', async ({ fixture, size }) => {
    const parts: string[] = [];
    const collect = (chunk: string) => void parts.push(chunk);
    await (fixture.length === 2 ? fixture(1, collect) : fixture(collect));
    const text = parts.join('');
    // One stream begins with U+FEFF, which is a byte order mark where it is sent, and is removed.
    const decoded = text.replace(/^\uFEFF/, '');
    expect(withData(await readWithClient(toBytes(text), size))).toEqual(withData(readWithPeer(decoded)));
  });
});
