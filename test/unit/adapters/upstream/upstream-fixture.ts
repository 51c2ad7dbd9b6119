import type { Hex, UpstreamCall } from 'intentbook';
import type { OrderBookUpstreamOptions } from 'intentbook/upstream';
import { orderBookUpstream } from 'intentbook/upstream';
import { deployment } from '../../../../src/protocol/chains.ts';
import { manualClock } from '../../../support/clock.ts';

/** A request that the adapter has sent. */
export interface SentRequest {
  readonly method: string;
  readonly url: URL;
  readonly headers: Headers;
  readonly body: unknown;
  readonly signal: AbortSignal;
  /** Milliseconds since the fixture was created. */
  readonly at: number;
  /** Ends the request. */
  respond(response: Response | Error): void;
}

export const UID: Hex = `0x${'11'.repeat(32)}${'22'.repeat(20)}6553f100`;
/** The domain of the book. */
export const DOMAIN = { chainId: 1, settlementContract: deployment('production').settlement };
export const OWNER: Hex = `0x${'22'.repeat(20)}`;

export const json = (status: number, body: unknown, headers: Record<string, string> = {}): Response =>
  new Response(JSON.stringify(body), { status, headers: { 'content-type': 'application/json', ...headers } });

export const html = (status: number, headers: Record<string, string> = {}): Response =>
  new Response('<html><body>Request blocked</body></html>', {
    status,
    headers: { 'content-type': 'text/html', ...headers },
  });

/** Lets promises settle. */
export async function settle(): Promise<void> {
  for (let i = 0; i < 4; i++) await new Promise((resolve) => setImmediate(resolve));
}

/** A response, an error of the connection, or a request that the test ends itself. */
export type Script = Response | Error | 'silence';

/** Creates an upstream with a manual clock, whose requests are recorded and get scripted responses. */
export function upstreamFixture(
  script: (request: SentRequest) => Script = () => 'silence',
  options: Partial<OrderBookUpstreamOptions> = {},
  { clock = manualClock(), reserve }: Context = {},
) {
  const start = clock.now();
  const requests: SentRequest[] = [];
  const calls: UpstreamCall[] = [];
  const send: typeof fetch = (input, init = {}) =>
    new Promise((resolve, reject) => {
      const request: SentRequest = {
        method: init.method ?? 'GET',
        url: new URL(String(input)),
        headers: new Headers(init.headers),
        body: typeof init.body === 'string' ? JSON.parse(init.body) : undefined,
        signal: init.signal as AbortSignal, // always given
        at: clock.now() - start,
        respond: (response) => (response instanceof Error ? reject(response) : resolve(response)),
      };
      requests.push(request);
      const scripted = script(request);
      if (scripted !== 'silence') request.respond(scripted);
    });
  const upstream = orderBookUpstream({ url: 'https://book.example/mainnet', fetch: send, ...options });
  const context = { ...DOMAIN, clock, onCall: (call: UpstreamCall) => calls.push(call) };
  upstream.open(reserve === undefined ? context : { ...context, reserve });

  return {
    upstream,
    clock,
    requests,
    calls,
    /** Advances in steps, so that requests that become due are sent at their time. */
    async advance(ms: number, step = 100) {
      for (let rest = ms; rest > 0; rest -= step) {
        clock.advance(Math.min(step, rest));
        await settle();
      }
    },
  };
}

interface Context {
  readonly clock?: ReturnType<typeof manualClock>;
  readonly reserve?: (name: string, interval: number) => Promise<number>;
}
