import { VERSION } from '../../version.ts';
import { FREE, READ } from '../cost.ts';
import { jsonResponse } from '../message.ts';
import type { Route } from '../route.ts';

/** Returns the package version and the domain, as text. */
const getVersion: Route = {
  method: 'GET',
  path: '/api/v1/version',
  cost: READ,
  async handle({ book: { chainId, settlementContract } }) {
    return {
      status: 200,
      headers: { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store' },
      body: `intentbook ${VERSION} chain ${chainId} settlement ${settlementContract}`,
    };
  },
};

/** Returns the package name, its version and the domain. */
const getRoot: Route = {
  method: 'GET',
  path: '/',
  cost: READ,
  async handle({ book: { chainId, settlementContract } }) {
    return jsonResponse(200, { name: 'intentbook', version: VERSION, chainId, settlementContract, api: '/api/v1' });
  },
};

/** Returns whether the book can serve: 200, or 500 with the state of each check. */
const getReadiness: Route = {
  method: 'GET',
  path: '/api/v1/ready',
  cost: READ,
  async handle({ book }) {
    const readiness = await book.ready();
    if (readiness.ready) return jsonResponse(200, readiness);
    const body = { errorType: 'InternalServerError', description: 'not ready', ...readiness };
    return jsonResponse(500, body, { 'retry-after': '1' });
  },
};

/** Responds while the event loop runs. */
const getLiveness: Route = {
  method: 'GET',
  path: '/live',
  cost: FREE, // A rate limit must not make an orchestrator restart the server.
  async handle() {
    return jsonResponse(200, { live: true });
  },
};

export const SYSTEM_ROUTES: readonly Route[] = [getVersion, getReadiness, getRoot];

/** The routes that a standalone server adds. */
export const PROBE_ROUTES: readonly Route[] = [{ ...getReadiness, path: '/ready', cost: FREE }, getLiveness];
