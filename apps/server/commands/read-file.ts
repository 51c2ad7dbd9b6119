import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';

/** A line of a file and its end. */
export interface FileLine {
  readonly text: string;
  /** Offset of the first byte after the line. */
  readonly end: number;
  /** Returns the SHA-256 of everything before the line. */
  readonly digest: () => string;
}

/** Reads a file line by line. Text after the last line feed is ignored. */
export async function* readLines(path: string): AsyncGenerator<FileLine> {
  const hash = createHash('sha256');
  let rest = Buffer.alloc(0);
  let end = 0;
  for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) {
    let bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    for (let feed = bytes.indexOf(10); feed >= 0; feed = bytes.indexOf(10)) {
      const line = bytes.subarray(0, feed + 1);
      end += line.length;
      yield { text: line.toString('utf8', 0, feed), end, digest: () => hash.copy().digest('hex') };
      hash.update(line);
      bytes = bytes.subarray(feed + 1);
    }
    rest = Buffer.from(bytes);
  }
}
