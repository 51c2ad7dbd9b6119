import type { Address, Api } from 'intentbook';
import { jsonResponse, VERSION } from '#internal';
import type { SandboxToken } from './tokens.ts';

/** What front ends show of a sandbox. */
export interface SandboxContent {
  readonly chainId: number;
  readonly tokens: readonly SandboxToken[];
  /** The account that settles, and the name of the solver. */
  readonly solver: { readonly address: Address; readonly name: string };
}

/**
 * Creates the interfaces that front ends of production read content from: empty lists of announcements, correlated
 * tokens and restricted lists, the solver of the sandbox, and its tokens as a token list. Without them, front ends show
 * errors and addresses in place of names.
 */
export function createFrontEndContent({ chainId, tokens, solver }: SandboxContent): Record<string, Api> {
  const network = { data: { id: 1, attributes: { chainId, name: String(chainId) } } };
  const environment = { data: { id: 1, attributes: { name: 'prod' } } };
  const place = { active: true, address: solver.address, payoutAddress: solver.address, network, environment };
  const attributes = {
    solverId: solver.name,
    displayName: 'Sandbox solver',
    description: 'Settles the orders of the sandbox',
    active: true,
    image: { data: null },
    solver_networks: { data: [{ id: 1, attributes: place }] },
  };
  const [major, minor, patch] = VERSION.split('.').map(Number);
  const tokenList = {
    name: 'intentbook sandbox',
    timestamp: new Date(0).toISOString(),
    version: { major, minor, patch },
    tokens: tokens.map(({ address, symbol, name, decimals }) => ({ chainId, address, symbol, name, decimals })),
  };
  return {
    '/announcements': createContent(listOf([])),
    '/correlated-tokens': createContent(listOf([])),
    '/restricted-token-lists': createContent(listOf([])),
    '/solvers': createContent(listOf([{ id: 1, attributes }])),
    '/token-list.json': createContent(tokenList),
  };
}

/** Returns a page of the content system. */
function listOf(data: readonly object[]) {
  return { data, meta: { pagination: { page: 1, pageSize: 100, pageCount: 1, total: data.length } } };
}

function createContent(body: object): Api {
  return {
    async handle({ method }) {
      if (method === 'GET' || method === 'HEAD') return jsonResponse(200, body);
      return jsonResponse(405, { message: 'the method must be GET' });
    },
  };
}
