import { lookup as resolve } from 'node:dns';
import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import type { LookupFunction } from 'node:net';
import { isIP } from 'node:net';
import type { AddressGuard } from './address-guard.ts';

/** What came back: no more of it than one could want to know. */
export interface Posted {
  readonly status: number;
  /** The first bytes of the body. */
  readonly body: string;
  /** Seconds. */
  readonly retryAfter?: number;
}

export interface PostOptions {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array;
  readonly signal: AbortSignal;
  readonly guard: AddressGuard;
}

const BODY_SEEN = 4096;

/**
 * Posts to a place that a stranger has named. Every address is judged when the connection is made, after its name was resolved, so that
 * a name cannot mean one address now and another one then. A connection is used once; redirects are not followed.
 */
export function post({ url, headers, body, signal, guard }: PostOptions): Promise<Posted> {
  return new Promise((fulfil, reject) => {
    const { protocol, hostname } = new URL(url);
    const host = hostname.replace(/^\[|\]$/g, '');
    // A literal address is never looked up.
    if (isIP(host) !== 0 && !guard.allows(host)) return reject(rejected());
    const send = protocol === 'https:' ? requestHttps : requestHttp;
    const request = send(url, {
      method: 'POST',
      agent: false,
      headers: { ...headers, 'content-length': String(Buffer.byteLength(body)) },
      lookup: guarded(guard),
      signal,
    });
    request.on('error', reject);
    request.on('response', (response) => {
      const chunks: Buffer[] = [];
      let size = 0;
      const done = () => {
        const retryAfter = Number(response.headers['retry-after']);
        const wait = Number.isFinite(retryAfter) && retryAfter > 0 ? { retryAfter } : {};
        fulfil({
          status: response.statusCode ?? 0,
          body: Buffer.concat(chunks).toString().slice(0, BODY_SEEN),
          ...wait,
        });
      };
      response.on('data', (chunk: Buffer) => {
        chunks.push(chunk);
        size += chunk.length;
        if (size < BODY_SEEN) return;
        done();
        request.destroy();
      });
      response.on('end', done);
      response.on('error', reject);
    });
    request.end(body);
  });
}

function guarded(guard: AddressGuard): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname, { ...options, all: true }, (error, addresses) => {
      if (error !== null) return callback(error, '', 0);
      const [first] = addresses;
      // One private address among them is enough: which of them is connected to is not ours to choose.
      if (first === undefined || addresses.some(({ address }) => !guard.allows(address))) {
        return callback(rejected(), '', 0);
      }
      if (options.all) callback(null, addresses);
      else callback(null, first.address, first.family);
    });
  };
}

const rejected = () => new Error('the target is not on the public internet');
