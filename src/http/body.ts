import { OrderBookError } from '../errors.ts';
import { isNestedDeeper, MAX_JSON_DEPTH } from '../protocol/json.ts';
import type { ApiRequest } from './message.ts';

const JSON_TYPE = /^application\/(?:[^;,\s]+\+)?json\s*(?:;|$)/i;

/**
 * Reads a JSON body of at most `limit` bytes. A body that the host's framework has parsed is used as it is.
 *
 * @throws OrderBookError `UnsupportedMediaType`, `PayloadTooLarge` or `InvalidJson`.
 */
export async function readJson(request: ApiRequest, limit: number): Promise<unknown> {
  const encoding = request.header('content-encoding');
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
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
  const text = body.type === 'none' ? '' : await readText(body, limit);
  if (isNestedDeeper(text, MAX_JSON_DEPTH)) throw tooDeep();
  try {
    return JSON.parse(text);
  } catch {
    throw new OrderBookError('InvalidJson', text === '' ? 'the body is empty' : 'the body is not JSON');
  }
}

const decoder = /* @__PURE__ */ new TextDecoder('utf-8', { fatal: true });

type UnreadBody = Exclude<ApiRequest['body'], { type: 'none' | 'parsed' }>;

async function readText(body: UnreadBody, limit: number): Promise<string> {
  const bytes = body.type === 'bytes' ? asBytes(body.bytes) : await gather(body.chunks, limit);
  if (bytes.length > limit) throw tooLarge(limit);
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
async function gather(chunks: AsyncIterable<Uint8Array>, limit: number): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of chunks) {
    size += chunk.length;
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
