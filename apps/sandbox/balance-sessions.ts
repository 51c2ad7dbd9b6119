import type { Api, ApiRequest, ApiResponse, Hex } from 'intentbook';
import type { Accounts, BalanceEvent } from 'intentbook/accounts';
import * as z from 'zod/mini';
import { jsonResponse, NATIVE_MARKER, readJson } from '#internal';
import type { SandboxToken } from './tokens.ts';

/** Maximum size of a request, in bytes. */
const BODY_LIMIT = 65_536;

/** Maximum number of tokens of a session: as many as a balance stream has. */
const MAX_TOKENS = 100;

const SESSION = z.object({
  tokensListsUrls: z._default(z.array(z.string()), []),
  customTokens: z._default(z.array(z.string().check(z.regex(/^0x[0-9a-fA-F]{40}$/, 'must be an address'))), []),
});

/**
 * Creates the interfaces that front ends of production read balances from: `POST` or `PUT /{chainId}/sessions/{owner}`
 * with the tokens, then the stream `GET /sse/{chainId}/balances/{owner}`. Errors have the body `{ code, message }`.
 * Lists of tokens are not fetched: a session has native currency, all tokens of the sandbox, and the custom ones.
 */
export function createBalanceSessions(chainId: number, accounts: Accounts, tokens: readonly SandboxToken[]) {
  const sessions = new Map<string, ReadonlySet<string>>();

  async function openSession(owner: string, request: ApiRequest): Promise<ApiResponse> {
    if (request.method === 'PUT' && !sessions.has(owner)) return problem(404, 'the account has no session');
    const parsed = SESSION.safeParse(await readJson(request, { limit: BODY_LIMIT }));
    if (!parsed.success) {
      const [issue] = parsed.error.issues;
      return problem(400, `${issue?.path.join('.') || 'the body'} ${issue?.message ?? 'is not valid'}`);
    }
    const { tokensListsUrls, customTokens } = parsed.data;
    if (tokensListsUrls.length + customTokens.length === 0) {
      return problem(400, 'tokensListsUrls or customTokens must have an element');
    }
    const watched = new Set([NATIVE_MARKER, ...tokens.map(({ address }) => address), ...customTokens.map(toLower)]);
    if (watched.size > MAX_TOKENS) return problem(400, `a session must have at most ${MAX_TOKENS} tokens`);
    sessions.set(owner, watched);
    return jsonResponse(200, {});
  }

  function streamBalances(owner: string, { signal }: ApiRequest): ApiResponse {
    const watched = sessions.get(owner);
    if (watched === undefined) return problem(404, `the account has no session: POST /${chainId}/sessions/${owner}`);
    const events = accounts.balances.watch(chainId, owner, [...watched], signal === undefined ? {} : { signal });
    const headers = { 'content-type': 'text/event-stream', 'cache-control': 'no-store, no-transform' };
    return { status: 200, headers, body: renderBalances(events) };
  }

  const createApi = (methods: readonly string[], respond: (owner: string, request: ApiRequest) => unknown): Api => ({
    async handle(request) {
      const owner = toLower(request.path.slice(1));
      if (!/^0x[0-9a-f]{40}$/.test(owner)) return problem(400, 'the account must be 0x and 40 hex digits');
      if (!methods.includes(request.method)) return problem(405, `the method must be ${methods.join(' or ')}`);
      try {
        return (await respond(owner, request)) as ApiResponse;
      } catch (error) {
        return problem(400, error instanceof Error ? error.message : String(error));
      }
    },
  });

  return {
    [`/${chainId}/sessions`]: createApi(['POST', 'PUT'], openSession),
    [`/sse/${chainId}/balances`]: createApi(['GET', 'HEAD'], streamBalances),
  };
}

/** Renders all balances, and then those that change, in atoms by token. */
async function* renderBalances(events: AsyncIterable<BalanceEvent>): AsyncGenerator<string> {
  yield ': stream\n\n'; // the headers are sent at once
  for await (const event of events) {
    if (event.type === 'initial_balances') {
      yield renderEvent(Object.fromEntries(event.balances.map(({ token, balance }) => [token.address, balance])));
    } else if (event.type === 'balance_update' && event.update.type === 'balance_change') {
      yield renderEvent({ [event.update.tokenAddress]: event.update.newBalance });
    }
  }
}

const renderEvent = (balances: Readonly<Record<string, string>>) =>
  `event: balance_update\ndata: ${JSON.stringify({ balances })}\n\n`;
const toLower = (address: string) => address.toLowerCase() as Hex; // compared with addresses
const problem = (code: number, message: string): ApiResponse => jsonResponse(code, { code, message });
