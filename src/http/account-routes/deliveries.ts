import { countRows } from '../../concurrency/abort.ts';
import type { DeliveryState } from '../../ports/delivery-store.ts';
import { assertKnownFilters, invalidParameter } from '../../validation/options.ts';
import { requireOperator } from '../auth.ts';
import { readCost, readCount, WRITE } from '../cost.ts';
import { jsonResponse } from '../message.ts';
import { queryInteger, queryText } from '../query.ts';
import type { AccountRoute } from './route.ts';

const STATES: readonly DeliveryState[] = ['pending', 'delivered', 'dead', 'dropped'];

/** Maximum number of deliveries of a page, and of those that a request names. */
const MAX_DELIVERIES = 1_000;

/** Lists deliveries in a state, oldest first, for operators. */
const listDeliveries: AccountRoute = {
  method: 'GET',
  path: '/restricted/deliveries',
  cost: readCost('deliveries', 'page size', (query) => readCount(query, 'limit', 1)),
  before: requireOperator,
  async handle({ accounts, query, work }) {
    assertKnownFilters(query.keys(), ['state', 'after', 'limit']);
    const limit = queryInteger(query, 'limit') ?? 100;
    if (limit < 1 || limit > MAX_DELIVERIES) throw invalidParameter('limit', `must be 1 to ${MAX_DELIVERIES}`);
    const after = queryInteger(query, 'after') ?? 0;
    const deliveries = await accounts.deliveries.list({ state: readState(query), after, limit });
    countRows(work, deliveries.length);
    return jsonResponse(200, deliveries);
  },
};

/** Makes dead deliveries pending again, for operators: those that the request names, or all. */
const replayDeliveries: AccountRoute = {
  method: 'POST',
  path: '/restricted/deliveries/replay',
  cost: { ...WRITE, growth: 'number of dead deliveries' },
  before: requireOperator,
  async handle({ accounts, query }) {
    assertKnownFilters(query.keys(), ['seq']);
    return jsonResponse(200, { replayed: await accounts.deliveries.replay(readSeqs(query)) });
  },
};

function readState(query: URLSearchParams): DeliveryState {
  const text = queryText(query, 'state') ?? 'dead';
  const state = STATES.find((each) => each === text);
  if (state === undefined) throw invalidParameter('state', `must be one of ${STATES.join(', ')}`);
  return state;
}

/** Reads `seq=1,2`. `undefined`: all deliveries. */
function readSeqs(query: URLSearchParams): readonly number[] | undefined {
  const seqs = queryText(query, 'seq')?.split(',');
  if (seqs === undefined) return undefined;
  if (seqs.length > MAX_DELIVERIES || !seqs.every((seq) => /^\d{1,15}$/.test(seq)))
    throw invalidParameter('seq', `must be at most ${MAX_DELIVERIES} whole numbers, separated by commas`);
  return seqs.map(Number);
}

export const DELIVERY_ROUTES: readonly AccountRoute[] = [listDeliveries, replayDeliveries];
