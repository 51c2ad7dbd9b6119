import type { Competition } from '../../auctions/competition.ts';
import { OrderBookError } from '../../errors.ts';
import { requireOperator } from '../auth.ts';
import type { ApiResponse } from '../message.ts';
import { jsonResponse, rejectionResponse } from '../response.ts';
import type { Call, Route } from '../route.ts';
import { LIST_BODY_LIMIT } from '../route.ts';

const VERSIONS = ['v1', 'v2'] as const;

/**
 * How solvers did in an auction: by its id, by a transaction that has settled it, and in the highest one. The first version
 * answers like the second (decision 4.3).
 */
export const competitions: readonly Route[] = VERSIONS.flatMap((version) => {
  const path = `/api/${version}/solver_competition`;
  return [
    {
      method: 'GET',
      path: `${path}/latest`,
      handle: async ({ book }) => found(await book.auctions.latestCompetition()),
    },
    {
      method: 'GET',
      path: `${path}/by_tx_hash/:hash`,
      handle: async ({ book, param }) => found(await book.auctions.competitionOfTransaction(param('hash'))),
    },
    { method: 'GET', path: `${path}/:auction_id`, handle: byId },
  ] satisfies Route[];
});

/** The same for operators. */
export const restrictedCompetition: Route = {
  method: 'GET',
  path: '/restricted/api/v2/solver_competition/:auction_id',
  before: requireOperator,
  handle: byId,
};

/** Records how solvers did in an auction; 201 when it is the first word on it. For operators. */
export const recordCompetition: Route = {
  method: 'POST',
  path: '/restricted/api/v1/competition',
  bodyLimit: LIST_BODY_LIMIT,
  before: requireOperator,
  async handle({ book, body }) {
    const result = await book.auctions.record(body as Competition); // judged by the verb
    if (result.status === 'rejected') return rejectionResponse(result.error);
    return jsonResponse(result.status === 'recorded' ? 201 : 200, result);
  },
};

async function byId({ book, param }: Call): Promise<ApiResponse> {
  const id = parseAuctionId(param('auction_id'));
  return found(id === undefined ? undefined : await book.auctions.competition(id));
}

/**
 * The id of an auction, from a path.
 *
 * @returns `undefined` for a number that no auction can have.
 * @throws OrderBookError `InvalidParameter` when it is no number.
 */
function parseAuctionId(text: string): number | undefined {
  if (!/^\d{1,20}$/.test(text)) {
    const reason = { parameter: 'auction_id' };
    throw new OrderBookError('InvalidParameter', 'auction_id: must be a whole number', reason);
  }
  return Number.isSafeInteger(Number(text)) ? Number(text) : undefined;
}

function found(competition: Competition | undefined): ApiResponse {
  if (competition === undefined) throw new OrderBookError('NotFound', 'solver competition not found');
  return jsonResponse(200, competition);
}
