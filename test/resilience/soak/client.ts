import { Agent, request } from 'node:http';

/** A response, or none: then the outcome of the request is unknown. */
export type Answer = { readonly status: number; readonly body: unknown } | 'broken';

/** Sends requests over persistent connections. */
export interface Client {
  send(method: string, path: string, body?: unknown): Promise<Answer>;
  close(): void;
}

export function createClient(url: string): Client {
  const agent = new Agent({ keepAlive: true, maxSockets: 64 });
  return {
    send: (method, path, body) =>
      new Promise((resolve) => {
        const text = body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body);
        const headers =
          text === undefined ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) };
        const sent = request(`${url}${path}`, { method, agent, headers }, (response) => {
          const chunks: Buffer[] = [];
          response.on('data', (chunk: Buffer) => chunks.push(chunk));
          response.on('error', () => resolve('broken'));
          response.on('end', () => {
            const received = Buffer.concat(chunks).toString();
            resolve({ status: response.statusCode ?? 0, body: received === '' ? undefined : JSON.parse(received) });
          });
        });
        sent.on('error', () => resolve('broken'));
        sent.end(text);
      }),
    close: () => agent.destroy(),
  };
}
