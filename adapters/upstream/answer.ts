import type { UpstreamClass, UpstreamRejection } from 'intentbook';
import { formatError, parseRetryAfter } from '#internal';
import type { PauseRequest } from './pause.ts';

/** A response that was read to its end. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** What a response, or its absence, proves. */
export type Verdict =
  | { readonly outcome: 'ok'; readonly body: unknown }
  | { readonly outcome: 'rejected'; readonly rejection: UpstreamRejection }
  /** The request may have had an effect. With `pause`, the class is paused nevertheless. */
  | {
      readonly outcome: 'lost';
      readonly reason: string;
      readonly httpStatus?: number;
      readonly pause?: PauseRequest;
      /** Whether the caller has ended the request, so that nothing is known of the other book. */
      readonly isCancelled?: boolean;
    }
  /** The request had no effect. */
  | { readonly outcome: 'blocked'; readonly pause: PauseRequest };

/** Classifies a response. Only JSON with an `errorType` is a rejection of the book: everything else is of its edge. */
export function classifyAnswer(name: UpstreamClass, answer: Answer, now: number): Verdict {
  const { status, headers, text } = answer;
  const body = parseJson(text);
  const error = parseError(body);
  const reason = `responded with status ${status}${error === undefined ? '' : ` (${error.code})`}`;
  const pause = (detail = ''): PauseRequest => {
    return { kind: 'edge', reason: reason + detail, delay: parseRetryAfter(headers, now) };
  };
  const lost: Verdict = { outcome: 'lost', reason, httpStatus: status };

  if (status === 429 || status === 402) return { outcome: 'blocked', pause: pause() };
  // A redirect that is not followed has the status 0 in browsers.
  if (status === 0 || (status >= 300 && status < 400)) return { outcome: 'blocked', pause: pause(', a redirect') };
  if (status === 503) return name === 'write' ? { ...lost, pause: pause() } : { outcome: 'blocked', pause: pause() };
  if (status >= 500 || status < 200 || status === 408 || status === 425) return lost;
  if (status < 300) {
    if (body !== undefined) return { outcome: 'ok', body };
    return { outcome: 'lost', reason: `${reason} without valid JSON`, httpStatus: status };
  }
  // The routes that are used here respond with it only if they do not exist: the base URL is wrong.
  const isRoute = status !== 404 || (error !== undefined && error.code !== 'NotFound');
  if (error !== undefined && isRoute)
    return { outcome: 'rejected', rejection: { ...error, status: 'rejected', httpStatus: status } };
  if (status === 401 || status === 403 || status === 407) {
    return { outcome: 'blocked', pause: pause(' and no error code: access is blocked, or the API key is not valid') };
  }
  const code = getExtractorCode(status, headers);
  if (code !== undefined) {
    const description = text.slice(0, MAX_TEXT);
    return { outcome: 'rejected', rejection: { status: 'rejected', code, description, httpStatus: status } };
  }
  const detail = isRoute ? ' and no error code' : ': there is no such route, so the base URL is wrong';
  if (name === 'write') return { outcome: 'blocked', pause: pause(detail) };
  // Without the status: smaller reads of the same route would fail as well.
  return isRoute ? lost : { outcome: 'lost', reason: reason + detail };
}

/** Maximum characters of a text without a code. */
const MAX_TEXT = 300;

/** Returns the code of a response without one: production rejects bodies that it cannot parse with plain text. */
function getExtractorCode(status: number, headers: Headers): string | undefined {
  if (status === 413) return 'PayloadTooLarge';
  if (status !== 400 && status !== 415 && status !== 422) return undefined;
  return /html/i.test(headers.get('content-type') ?? '') ? undefined : 'InvalidBody';
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Reads the error of the book in a body. */
export function parseError(body: unknown): Pick<UpstreamRejection, 'code' | 'description' | 'data'> | undefined {
  if (typeof body !== 'object' || body === null || !('errorType' in body)) return undefined;
  const { errorType: code, description, data } = body as Readonly<Record<string, unknown>>; // an object
  if (typeof code !== 'string' || code === '') return undefined;
  const text = typeof description === 'string' ? description : '';
  return { code, description: text, ...(data === undefined ? {} : { data }) };
}

/** Codes of errors before a request could be sent. */
const CONNECTING = new Set(['ENOTFOUND', 'EAI_AGAIN', 'ECONNREFUSED', 'UND_ERR_CONNECT_TIMEOUT']);
/** Codes of certificates that are not valid. */
const CERTIFICATE = /^(CERT_|ERR_TLS_CERT|SELF_SIGNED|DEPTH_ZERO|UNABLE_TO_|HOSTNAME_MISMATCH|INVALID_(CA|PURPOSE))/;

/** Classifies an error of `fetch`, whose cause is that of the connection. */
export function classifyError(error: unknown): Verdict {
  const causes = listCauses(error);
  const codes = causes.map(({ code }) => String(code ?? ''));
  const code = codes.find((each) => each !== '');
  const reason = `no response: ${code ?? formatError(error)}`;
  if (codes.some((each) => CERTIFICATE.test(each))) return { outcome: 'blocked', pause: { kind: 'edge', reason } };
  const isUnsent = causes.some(({ code: each, syscall }) => CONNECTING.has(String(each)) || syscall === 'connect');
  return isUnsent ? { outcome: 'blocked', pause: { kind: 'unreachable', reason } } : { outcome: 'lost', reason };
}

/** Returns the causes of an error. Attempts at several addresses are the errors of one cause. */
function listCauses(error: unknown): readonly { readonly code?: unknown; readonly syscall?: unknown }[] {
  const found: object[] = [];
  for (let each = error; typeof each === 'object' && each !== null && found.length < 8; ) {
    found.push(each);
    const { cause, errors } = each as { readonly cause?: unknown; readonly errors?: readonly unknown[] };
    each = cause ?? errors?.[0];
  }
  return found;
}
