import type { Competition, CompetitionQuery } from '../../auctions/index.ts';
import { countRows, type ReadOptions } from '../../concurrency/abort.ts';
import { OrderBookError } from '../../errors.ts';
import { invalidParameter } from '../../validation/options.ts';
import { requireOperator } from '../auth.ts';
import { type RouteCost, readCost, unknownRows, WRITE } from '../cost.ts';
import { type ApiResponse, jsonResponse, jsonText, matchesEtag, rejectionResponse } from '../message.ts';
import { type Call, COMPETITION_BODY_LIMIT, documentBodyLimit, type Route } from '../route.ts';

/** Bytes of a competition that one token pays for. Only operators record competitions. */
const COMPETITION_BYTES_PER_TOKEN = 1024 * 1024;

/** Orders of an auction that one token pays for. The rendered auction is shared by all requests. */
const AUCTION_ROWS_PER_TOKEN = 1000;

const AUCTION_COST = /* @__PURE__ */ readCost('orders', 'orders of the auction', unknownRows, AUCTION_ROWS_PER_TOKEN);

/** Returns the current auction: the open orders that are funded, with the native prices of their tokens. */
const getAuction: Route = {
  method: 'GET',
  path: '/api/v1/auction',
  cost: AUCTION_COST,
  async handle({ book, request, work }) {
    const { etag, chunks, size } = await book.auctions.rendered.current();
    const headers = { etag, 'cache-control': 'no-cache' };
    if (matchesEtag(etag, request.header('if-none-match'))) return { status: 304, headers };
    countRows(work, size);
    return jsonText(200, chunks, headers);
  },
};

/** Streams auctions: a complete one, then the changes. Resumes after `Last-Event-ID`. */
const streamAuctions: Route = {
  method: 'GET',
  path: '/api/v1/auction/stream',
  cost: AUCTION_COST,
  stream: true,
  handle: async (call) => (await import('../auction-stream.ts')).auctionStream(call),
};

const COMPETITION_COST = /* @__PURE__ */ readCost('KiB of the response', 'orders of the auction', unknownRows, 64);

/** Return the competition of an auction by its id, by a settlement transaction, and of the highest auction id. */
const COMPETITION_ROUTES: readonly Route[] = ['v1', 'v2'].flatMap((version): Route[] => {
  const path = `/api/${version}/solver_competition`;
  return [
    {
      method: 'GET',
      path: `${path}/latest`,
      cost: COMPETITION_COST,
      handle: async ({ book, hideCompetitions, work }) =>
        competitionResponse(await book.auctions.latestCompetition({ published: hideCompetitions }), work),
    },
    {
      method: 'GET',
      path: `${path}/by_tx_hash/:hash`,
      cost: COMPETITION_COST,
      handle: async ({ book, param, hideCompetitions, work }) =>
        competitionResponse(
          await book.auctions.competitionOfTransaction(param('hash'), { published: hideCompetitions }),
          work,
        ),
    },
    {
      method: 'GET',
      path: `${path}/:auction_id`,
      cost: COMPETITION_COST,
      handle: (call) => getCompetition(call, { published: call.hideCompetitions }),
    },
  ];
});

/** Returns the competition of an auction to an operator. */
const getRestrictedCompetition: Route = {
  method: 'GET',
  path: '/restricted/api/v2/solver_competition/:auction_id',
  cost: COMPETITION_COST,
  before: requireOperator,
  handle: (call) => getCompetition(call),
};

/** Records the competition of an auction. Responds 201 if it is the first record. For operators. */
const recordCompetition: Route = {
  method: 'POST',
  path: '/restricted/api/v1/competition',
  cost: { ...WRITE, bytesPerToken: COMPETITION_BYTES_PER_TOKEN },
  bodyLimit: COMPETITION_BODY_LIMIT,
  before: requireOperator,
  async handle({ book, body }) {
    const result = await book.auctions.record(body as Competition); // `record` validates the shape
    if (result.status === 'rejected') return rejectionResponse(result.error);
    return jsonResponse(result.status === 'recorded' ? 201 : 200, result);
  },
};

/** Creates a route that explains an order to operators. Its handler is loaded on first use. */
function debugRoute(handler: keyof typeof import('../debug.ts'), route: Omit<Route, 'handle'>): Route {
  return {
    ...route,
    path: `/restricted/api/v1/debug/${route.path}`,
    before: requireOperator,
    handle: async (call) => jsonResponse(200, await (await import('../debug.ts'))[handler](call)),
  };
}

/** A search of the newest log entries. */
const SEARCH = /* @__PURE__ */ readCost('log entries', 'newest 20,000 log entries', unknownRows, 500);

const SIMULATION: RouteCost = { ...WRITE, growth: 'gas of the hooks' };

const DEBUG_ROUTES: readonly Route[] = [
  debugRoute('reportOrder', { method: 'GET', path: 'order/:uid', cost: SEARCH }),
  debugRoute('simulateStoredOrder', { method: 'GET', path: 'simulation/:uid', cost: SIMULATION }),
  debugRoute('simulateNewOrder', {
    method: 'POST',
    path: 'simulation',
    cost: SIMULATION,
    bodyLimit: documentBodyLimit,
  }),
];

export const AUCTION_ROUTES: readonly Route[] = [
  getAuction,
  streamAuctions,
  ...COMPETITION_ROUTES,
  getRestrictedCompetition,
  recordCompetition,
  ...DEBUG_ROUTES,
];

async function getCompetition({ book, param, work }: Call, query?: CompetitionQuery): Promise<ApiResponse> {
  const id = parseAuctionId(param('auction_id'));
  return competitionResponse(id === undefined ? undefined : await book.auctions.competition(id, query), work);
}

/**
 * Parses an auction id from a path.
 *
 * @returns `undefined` for a number above the largest safe integer, which no auction has.
 * @throws OrderBookError `InvalidParameter` if the text is not a whole number.
 */
function parseAuctionId(text: string): number | undefined {
  if (!/^\d{1,20}$/.test(text)) throw invalidParameter('auction_id', 'must be a whole number');
  return Number.isSafeInteger(Number(text)) ? Number(text) : undefined;
}

function competitionResponse(competition: Competition | undefined, work: ReadOptions): ApiResponse {
  if (competition === undefined) throw new OrderBookError('NotFound', 'solver competition not found');
  const text = JSON.stringify(competition);
  countRows(work, Math.ceil(text.length / 1024));
  return jsonText(200, text);
}
