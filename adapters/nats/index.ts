/**
 * Events of a book on NATS JetStream.
 *
 * @module
 */

import type { EventLog, StoredEvent } from 'intentbook';
import { type Clock, systemClock } from 'intentbook';
import { assertKnownOptions, createFailureReporter, createWorker, requireFunctions } from '#internal';

/** The part of a client of `@nats-io/jetstream` that a publisher uses: `jetstream(connection)`. */
export interface JetStream {
  publish(
    subject: string,
    body: string,
    options: { msgID: string; expect: { streamName: string; lastSequence: number }; retries: number },
  ): Promise<JetStreamAck>;
  jetstreamManager(): Promise<{ readonly streams: JetStreamStreams }>;
}

/** An acknowledgement: the sequence of the message, or of an earlier one with the same id, which it would repeat. */
export interface JetStreamAck {
  readonly seq: number;
}

/** The part of a manager of `@nats-io/jetstream` that a publisher uses. */
export interface JetStreamStreams {
  info(stream: string): Promise<JetStreamInfo>;
  add(options: { name: string; subjects: string[] }): Promise<JetStreamInfo>;
  getMessage(
    stream: string,
    query: { seq: number },
  ): Promise<{ readonly header: { get(name: string): string }; json(): unknown } | null>;
}

/** The end of a stream. */
export interface JetStreamInfo {
  /** The sequence of the last message and the number of messages. */
  readonly state: { readonly last_seq: number; readonly messages: number };
}

/** Options of a publisher. */
export interface NatsPublisherOptions {
  /** The log of the book: `book.log`. */
  readonly log: EventLog;
  /**
   * The client: `jetstream(connection)` of `@nats-io/jetstream`, or a function that creates it. The function is called
   * until it succeeds, and again if the connection is closed. The host owns the connection. The timeout of the client
   * limits an acknowledgement.
   */
  readonly jetstream: JetStream | (() => Promise<JetStream>);
  /**
   * Name of the stream, which has the events of this book only. It is created with storage in files if it is missing.
   */
  readonly stream: string;
  /** Prefix of the subjects, such as `intentbook.mainnet`. Default: the name of the stream. */
  readonly subject?: string;
  /**
   * Id of the log after which an empty stream begins. Required if a stream has lost all its messages, since its
   * position is unknown then. Default: 0, the start of the log, for a stream that never had a message.
   */
  readonly after?: number;
  /** Called with failures, once until the next success. The publisher continues. */
  readonly onFailure?: (failure: unknown) => void;
  /** The source of time. Default: the system clock. */
  readonly clock?: Clock;
}

/** Publishes the log of a book. */
export interface NatsPublisher {
  /** Starts to publish, after the last entry in the stream. */
  start(): void;
  /** Stops after the entries that are being published. The connection stays open. */
  stop(): Promise<void>;
  /** Id of the last entry that is in the stream. `undefined` before the stream was read. */
  readonly position: number | undefined;
}

const OPTIONS = ['log', 'jetstream', 'stream', 'subject', 'after', 'onFailure', 'clock'];

/** Entries that are published before their acknowledgements are awaited. */
const PAGE_SIZE = 256;

/** Milliseconds until the next attempt after a failure. */
const RETRY_DELAY = 1_000;

/** Milliseconds after which the log is read without a hint. */
const INTERVAL = 5_000;

/** Header of the message id, by which JetStream and consumers detect repetitions. */
const MESSAGE_ID = 'Nats-Msg-Id';

const ID = /^(?:gap-)?(\d{1,16})$/;

/** A stream, as it was last read. */
interface Tail {
  /** Sequence of the last message; 0 if there never was one. */
  sequence: number;
  /** Id of the last published entry. */
  position: number;
}

/**
 * Creates a publisher of the log of a book to JetStream: each entry once, in the order of the log, whatever is
 * restarted.
 *
 * The subject of an entry is `<subject>.<type>`, its message id the id in the log, and its body the entry as JSON.
 * Entries that retention has deleted before they were published, or that a restored log lacks, are one message of the
 * subject `<subject>.gap` with `{ from, to }`.
 *
 * The position is that of the last message in the stream, and each message names the sequence that it expects. So
 * several publishers of one log, such as the processes of a cluster, add each entry once. A publisher adds nothing to a
 * stream whose last entry differs from that of its log.
 *
 * @throws TypeError if an option is unknown or malformed.
 */
export function natsPublisher(options: NatsPublisherOptions): NatsPublisher {
  assertKnownOptions('natsPublisher', options, OPTIONS);
  const { log, jetstream, stream, subject = stream, clock = systemClock } = options;
  requireFunctions('natsPublisher: log', log, ['last', 'after', 'watch']);
  if (typeof jetstream !== 'function') requireFunctions('natsPublisher: jetstream', jetstream, ['publish']);
  requireName('stream', stream, /^[^\s.*>/\\]{1,255}$/, 'a name without blanks, ".", "*", ">" and slashes');
  requireName('subject', subject, /^[^\s.*>]+(?:\.[^\s.*>]+)*$/, 'a subject without wildcards');
  const report = createFailureReporter(options.onFailure);
  let client: JetStream | undefined;
  let streams: JetStreamStreams | undefined;
  let tail: Tail | undefined;
  let hasFailed = false;

  async function connect(): Promise<readonly [JetStream, JetStreamStreams]> {
    client ??= typeof jetstream === 'function' ? await jetstream() : jetstream;
    streams ??= (await client.jetstreamManager()).streams;
    return [client, streams];
  }

  /** Publishes a page of the log. Later messages are refused if an earlier one is not added. */
  async function publish(js: JetStream, at: Tail, entries: readonly StoredEvent[]): Promise<void> {
    const messages: { readonly type: string; readonly id: string; readonly position: number; readonly body: object }[] =
      [];
    let position = at.position;
    for (const entry of entries) {
      const [from, to] = [position + 1, entry.id - 1];
      if (from <= to) messages.push({ type: 'gap', id: `gap-${to}`, position: to, body: { from, to } });
      messages.push({ type: entry.type, id: String(entry.id), position: entry.id, body: entry });
      position = entry.id;
    }
    const sent = messages.map(({ type, id, body }, i) =>
      js.publish(`${subject}.${type}`, JSON.stringify(body), {
        msgID: id,
        expect: { streamName: stream, lastSequence: at.sequence + i },
        retries: 0,
      }),
    );
    // Without an acknowledgement, it is unknown whether a message was added: the end of the stream is read again.
    for (const [i, outcome] of (await Promise.allSettled(sent)).entries()) {
      if (outcome.status === 'rejected') throw outcome.reason;
      // JetStream remembers the ids of messages for two minutes or longer, also of those that the stream has lost.
      if (outcome.value.seq !== at.sequence + i + 1)
        throw new Error(`the stream ${stream} drops message ${messages[i]?.id} as a repetition of a lost one`);
    }
    tail = { sequence: at.sequence + messages.length, position };
  }

  const worker = createWorker({
    clock,
    interval: INTERVAL,
    retryDelay: RETRY_DELAY,
    watch: (wake) => log.watch(wake),
    async run(isStopping) {
      const [js, found] = await connect();
      tail ??= await readTail(found, options);
      while (!isStopping()) {
        const entries = await log.after(tail.position, PAGE_SIZE);
        if (entries.length === 0) {
          const last = await log.last();
          // A log that ends before its copy is another one, or a backup.
          if (last < tail.position)
            throw new Error(
              `the stream ${stream} has entry ${tail.position}, but the log ends at ${last}; a restored log continues ` +
                'with its next entry (see "intentbook begin-epoch"), another log needs another stream',
            );
          break;
        }
        await publish(js, tail, entries);
      }
      hasFailed = false;
      return undefined;
    },
    onFailure(failure) {
      tail = undefined;
      // A client does not open a closed connection again. The function creates another one.
      if (isConnectionClosed(failure)) client = streams = undefined;
      if (!hasFailed && !isSequenceTaken(failure)) report(failure);
      hasFailed ||= !isSequenceTaken(failure);
    },
  });

  return {
    start: worker.start,
    stop: worker.stop,
    get position() {
      return tail?.position;
    },
  };
}

/** Reads the end of the stream, and creates a stream that is missing. */
async function readTail(
  streams: JetStreamStreams,
  { log, stream, subject = stream, after }: Pick<NatsPublisherOptions, 'log' | 'stream' | 'subject' | 'after'>,
): Promise<Tail> {
  const info = await streams.info(stream).catch((error: unknown) => {
    if (!isNotFound(error)) throw error;
    return streams.add({ name: stream, subjects: [`${subject}.>`] });
  });
  const { last_seq: sequence, messages } = info.state;
  if (messages === 0) {
    if (after === undefined && sequence > 0)
      throw new Error(
        `the stream ${stream} has lost its last message: the option "after" must give its position, or delete the stream`,
      );
    return { sequence, position: after ?? 0 };
  }
  const message = await streams.getMessage(stream, { seq: sequence });
  const id = message?.header.get(MESSAGE_ID) ?? '';
  const position = Number(ID.exec(id)?.[1] ?? Number.NaN);
  if (message === null || Number.isNaN(position))
    throw new Error(`the last message of the stream ${stream} is not an event of this book: "${id}"`);
  // Retention may have deleted the entry.
  const [entry] = await log.after(position - 1, 1);
  if (id === String(entry?.id) && !isSameEntry(message.json(), entry))
    throw new Error(
      `the stream ${stream} is of another log: its entry ${position} differs; name another stream, or delete this one`,
    );
  return { sequence, position };
}

/** Compares the members that no version of the package changes. */
function isSameEntry(body: unknown, entry: StoredEvent | undefined): boolean {
  const { type, uid, at } = Object(body);
  return type === entry?.type && uid === entry?.uid && at === entry?.at;
}

/** Code of JetStream for a stream that does not exist. */
const STREAM_NOT_FOUND = 10_059;

/** Codes of JetStream for another last sequence than the expected one: another publisher was faster. */
const WRONG_SEQUENCE = [10_071, 10_164];

const getCode = (error: unknown) => (typeof error === 'object' && error !== null && 'code' in error ? error.code : 0);
const isNotFound = (error: unknown) => getCode(error) === STREAM_NOT_FOUND;
const isSequenceTaken = (error: unknown) => WRONG_SEQUENCE.some((code) => code === getCode(error));
const isConnectionClosed = (error: unknown) => error instanceof Error && error.name === 'ClosedConnectionError';

function requireName(name: string, value: unknown, pattern: RegExp, expected: string): void {
  if (typeof value === 'string' && pattern.test(value)) return;
  throw new TypeError(`natsPublisher: ${name} must be ${expected}, got ${String(value).slice(0, 80)}`);
}
