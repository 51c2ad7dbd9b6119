import { OrderBookError } from '../errors.ts';
import { isNestedDeeper, MAX_JSON_DEPTH } from '../protocol/json.ts';
import type { ApiRequest } from './message.ts';

const JSON_TYPE = /^application\/(?:[^;,\s]+\+)?json\s*(?:;|$)/i;

/** The size of a body that has not been parsed. */
export interface BodySize {
  readonly bytes: number;
  /** Number of commas. A list has one less than elements; strings may contain others. */
  readonly commas: number;
}

/** How a body is read. */
export interface BodyOptions {
  /** Maximum size, in bytes. */
  readonly limit: number;
  /** Receives the bytes that have been read. */
  readonly meter?: { bytes: number };
  /** Throws to reject a body by its size, before it is parsed. */
  readonly check?: ((size: BodySize) => void) | undefined;
}

/**
 * Reads a JSON body. A body that the host's framework has parsed is used as it is.
 *
 * @throws OrderBookError `UnsupportedMediaType`, `PayloadTooLarge` or `InvalidJson`.
 */
export async function readJson(request: ApiRequest, { limit, meter, check }: BodyOptions): Promise<unknown> {
  const encoding = request.header('content-encoding') ?? '';
  // The header is a list, which may have empty elements (RFC 9110, 5.6.1).
  if (encoding.split(',').some((coding) => !['', 'identity'].includes(coding.trim().toLowerCase()))) {
    throw new OrderBookError('UnsupportedMediaType', 'the body must not be compressed', { encoding });
  }
  const contentType = request.header('content-type') ?? null;
  if (contentType === null || !JSON_TYPE.test(contentType)) {
    throw new OrderBookError('UnsupportedMediaType', undefined, { contentType, expected: 'application/json' });
  }

  const declared = Number(request.header('content-length'));
  if (declared > limit) throw tooLarge(limit);
  const { body } = request;
  if (body.type === 'parsed') {
    if (getDepth(body.value) > MAX_JSON_DEPTH) throw tooDeep();
    return body.value;
  }
  const bytes = body.type === 'none' ? NO_BYTES : await readBytes(body, limit, meter);
  check?.({ bytes: bytes.length, commas: countCommas(bytes) });
  const text = decode(bytes);
  if (isNestedDeeper(text, MAX_JSON_DEPTH)) throw tooDeep();
  try {
    return JSON.parse(text);
  } catch {
    throw new OrderBookError('InvalidJson', text === '' ? 'the body is empty' : 'the body is not JSON');
  }
}

const decoder = /* @__PURE__ */ new TextDecoder('utf-8', { fatal: true });

type UnreadBody = Exclude<ApiRequest['body'], { type: 'none' | 'parsed' }>;

const NO_BYTES = /* @__PURE__ */ new Uint8Array();

const COMMA = 0x2c;

function countCommas(bytes: Uint8Array): number {
  let count = 0;
  for (let at = bytes.indexOf(COMMA); at >= 0; at = bytes.indexOf(COMMA, at + 1)) count++;
  return count;
}

async function readBytes(body: UnreadBody, limit: number, meter: BodyOptions['meter']): Promise<Uint8Array> {
  if (body.type === 'chunks') return gather(body.chunks, limit, meter);
  const bytes = asBytes(body.bytes);
  if (meter !== undefined) meter.bytes = bytes.length;
  if (bytes.length > limit) throw tooLarge(limit);
  return bytes;
}

function decode(bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes);
  } catch {
    throw new OrderBookError('InvalidJson', 'the body is not UTF-8');
  }
}

function asBytes(bytes: Uint8Array | string): Uint8Array {
  return typeof bytes === 'string' ? new TextEncoder().encode(bytes) : bytes;
}

/** Reads chunks up to the limit. Leaving the loop makes the source stop. */
async function gather(
  chunks: AsyncIterable<Uint8Array>,
  limit: number,
  meter: BodyOptions['meter'],
): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of chunks) {
    size += chunk.length;
    if (meter !== undefined) meter.bytes = size;
    if (size > limit) throw tooLarge(limit);
    parts.push(chunk);
  }
  const [first] = parts;
  if (first !== undefined && parts.length === 1) return first;
  const bytes = new Uint8Array(size);
  let offset = 0;
  for (const part of parts) {
    bytes.set(part, offset);
    offset += part.length;
  }
  return bytes;
}

/** Returns the nesting depth of a value, up to just above the limit. Iterates by level, so that depth uses no stack. */
function getDepth(value: unknown): number {
  let level = [value].filter(isContainer);
  let depth = 0;
  while (level.length > 0 && depth <= MAX_JSON_DEPTH) {
    depth++;
    level = level.flatMap((container) => Object.values(container).filter(isContainer));
  }
  return depth;
}

function isContainer(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

function tooDeep(): OrderBookError {
  return new OrderBookError('InvalidJson', `the body is nested deeper than ${MAX_JSON_DEPTH}`, {
    maxDepth: MAX_JSON_DEPTH,
  });
}

function tooLarge(limit: number): OrderBookError {
  return new OrderBookError('PayloadTooLarge', `the body is larger than ${limit} bytes`, { limit });
}
