import {
  createHeaders,
  formatError,
  getEndpoint,
  parseServiceUrl,
  readResponseText,
  requireFunction,
  requireInteger,
} from '#internal';
import type { HttpDriverOptions } from './http-driver.ts';

/** Access to a driver. */
type DriverConnection = ReturnType<typeof createDriverConnection>;

export function createDriverConnection(
  caller: string,
  url: string,
  options: Pick<HttpDriverOptions, 'name' | 'headers' | 'maxBytes' | 'fetch'>,
) {
  const service = parseServiceUrl(caller, url);
  const { name = service.base.host, maxBytes = 10_000_000, fetch: send = fetch } = options;
  requireFunction(`${caller}: fetch`, send);
  requireInteger(`${caller}: maxBytes`, maxBytes, 1);
  const json = { accept: 'application/json' };
  const headers = createHeaders(`${caller}: headers`, json, service.authorization, options.headers ?? {});
  return { name, service, headers, maxBytes, fetch: send };
}

/** Maximum characters of a description. */
const MAX_DESCRIPTION = 200;

/**
 * Sends a request and reads its response, at most `maxBytes`. Redirects are not followed.
 *
 * @returns The status and the parsed body; `undefined` if it is empty, or the text of an error.
 * @throws SyntaxError if the body of a result is not JSON.
 */
export async function sendRequest(
  connection: DriverConnection,
  path: string,
  init: RequestInit,
  query?: URLSearchParams,
): Promise<{ readonly status: number; readonly body: unknown }> {
  const endpoint = getEndpoint(connection.service, path);
  if (query !== undefined) endpoint.search = query.toString();
  const headers = new Headers(connection.headers);
  for (const [name, value] of new Headers(init.headers)) headers.set(name, value);
  const request = connection.fetch(endpoint, { ...init, headers, redirect: 'error' });
  const response = await request.catch((cause: unknown) => {
    // The records of auctions have the message only, and that of `fetch` has no reason.
    throw init.signal?.aborted === true ? cause : new Error(formatError(cause), { cause });
  });
  const { status } = response;
  if (status === 200 && UNREAD.has(path)) {
    await response.body?.cancel();
    return { status, body: undefined };
  }
  const text = await readResponseText(response, connection.maxBytes);
  return { status, body: parseBody(text, status !== 200) };
}

/** Paths whose results are not read: a status of 200 is complete without its body. */
const UNREAD: ReadonlySet<string> = new Set(['settle', 'notify']);

/** Parses a body. `undefined` if it is empty, or optional and not JSON, such as the page of a proxy. */
function parseBody(text: string, isOptional: boolean): unknown {
  if (text.trim() === '') return undefined;
  try {
    return JSON.parse(text);
  } catch (error) {
    if (isOptional) return undefined;
    throw error;
  }
}

/** Returns the error `{ kind, description }` in a body. `undefined` if it has none. */
export function findError(body: unknown) {
  if (typeof body !== 'object' || body === null || !('kind' in body) || typeof body.kind !== 'string') return undefined;
  const text = 'description' in body && typeof body.description === 'string' ? body.description : undefined;
  return { kind: body.kind.slice(0, MAX_DESCRIPTION), description: text?.slice(0, MAX_DESCRIPTION) };
}

/** Creates the error of a response that is not 200, with the `kind` of the driver. */
export function createResponseError(
  { name }: DriverConnection,
  { status, body }: Awaited<ReturnType<typeof sendRequest>>,
): Error {
  const error = findError(body);
  const reason = error && `${error.kind}${error.description === undefined ? '' : `: ${error.description}`}`;
  const failure = new Error(`${name} responded with status ${status}${reason === undefined ? '' : ` (${reason})`}`);
  return error === undefined ? failure : Object.assign(failure, { kind: error.kind });
}
