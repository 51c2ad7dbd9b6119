import type { Readiness } from '../../order-book.ts';
import type { ApiResponse } from '../message.ts';
import { jsonResponse } from '../response.ts';
import type { Route } from '../route.ts';

/** Whether this book can serve: 200, or 500 with what is missing. */
export const ready: Route = {
  method: 'GET',
  path: '/api/v1/ready',
  async handle({ book }) {
    return readiness(await book.ready());
  },
};

/** The same, where orchestrators look for it. */
export const serverReady: Route = { ...ready, path: '/ready' };

/** Answers as long as the event loop turns. */
export const live: Route = {
  method: 'GET',
  path: '/live',
  kind: 'free', // whoever restarts a server that does not answer must not be made to by a limit
  async handle() {
    return jsonResponse(200, { live: true });
  },
};

function readiness(state: Readiness): ApiResponse {
  if (state.ready) return jsonResponse(200, state);
  const error = { errorType: 'InternalServerError', description: 'not ready' };
  return jsonResponse(500, { ...error, ...state }, { 'retry-after': '1' });
}
