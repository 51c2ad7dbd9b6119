import type { Address, AuctionOrder, Hex } from 'intentbook';
import {
  assertKnownOptions,
  createFailureReporter,
  MAX_TIMER,
  parseDateTime,
  requireFunctions,
  requireInteger,
  untilAborted,
} from '#internal';
import { describeSolution, formatPrices, sortByScore } from './describe-solution.ts';
import { encodeSettlement } from './encode.ts';
import { createFailedOrders } from './failed-orders.ts';
import type { SettlementReceipt, Settler } from './settler.ts';
import type { Solution, SolvableAuction, SolverEngine } from './types.ts';

/** Settings of a driver. */
export interface DriverOptions {
  /** Finds solutions of auctions, such as `createReferenceEngine`. */
  readonly engine: SolverEngine;
  /** Simulates and executes settlements: `nodeSettler({ client, wallet })`. */
  readonly settler: Settler;
  /** Gas units of a quoted trade. Default: 250000. */
  readonly gas?: number;
  /** Number of auctions whose solutions can still be settled. Default: 20. */
  readonly keep?: number;
  /** Number of solutions of one auction: those with the best scores. Default: 3, as many as a book accepts. */
  readonly maxSolutions?: number;
  /** Maximum size of a request in bytes. Default: 50000000. */
  readonly maxBytes?: number;
  /** Called with errors of the node and of the engine. An error that it throws is dropped. */
  readonly onFailure?: (failure: unknown) => void;
}

const OPTIONS = ['engine', 'settler', 'gas', 'keep', 'maxSolutions', 'maxBytes', 'onFailure'];

/** A driver: the HTTP interface of a solver. */
export interface Driver {
  /**
   * Responds to `POST /solve`, `/reveal`, `/settle` and `/notify`, and to `GET /quote`. A notification has no effect.
   * Never rejects.
   */
  handle(request: Request): Promise<Response>;
}

/** Earlier offers of an auction that are kept when it is solved again. */
const MAX_EARLIER = 100;

/** Maximum milliseconds of the time of an auction that are kept for the response. At most a tenth of it is kept. */
const MAX_RESPONSE_TIME = 500;

/** The same for the simulation of what an engine finds in all of its time. At most a fifth of the rest is kept. */
const MAX_SIMULATION_TIME = 2_000;

/** A solution that can be settled. */
interface Offer {
  readonly solution: Solution;
  /** The settlement, once it was requested. */
  receipt: Promise<SettlementReceipt> | undefined;
}

/** An error in the format of production. */
class DriverFailure extends Error {
  override readonly name = 'DriverFailure';
  readonly kind: string;

  constructor(kind: string, message: string) {
    super(message);
    this.kind = kind;
  }
}

/**
 * Creates the HTTP interface of a solver, as a book with `auctions.run` calls it, from an engine and an account.
 *
 * ```ts
 * const driver = createDriver({ engine, settler: nodeSettler({ client, wallet }) });
 * export default { fetch: driver.handle };
 * ```
 *
 * @throws TypeError if an option is unknown or malformed.
 */
export function createDriver(options: DriverOptions): Driver {
  assertKnownOptions('createDriver', options, OPTIONS);
  const { engine, settler, onFailure } = options;
  requireFunctions('createDriver: engine', engine, ['solve']);
  requireFunctions('createDriver: settler', settler, ['simulate', 'submit']);
  const read = (name: 'gas' | 'keep' | 'maxSolutions' | 'maxBytes', byDefault: number) =>
    requireInteger(`createDriver: ${name}`, options[name] ?? byDefault);
  const gas = read('gas', 250_000);
  const keep = read('keep', 20);
  const maxSolutions = read('maxSolutions', 3);
  const maxBytes = read('maxBytes', 50_000_000);
  /** Solutions by auction and id. */
  const solved = new Map<number, ReadonlyMap<number, Offer>>();
  // Another process may have solved the same auctions before.
  let lastId = Date.now() * 1000;
  const failures = createFailedOrders(engine, settler);
  const send = createSender(settler);
  const report = createFailureReporter(onFailure);

  /**
   * Finds the solutions that can be settled, of those that are simulated before the signal is aborted. One that fails
   * is replaced by a solution of some of its orders.
   *
   * @throws The first failure, if no solution can be settled.
   */
  async function findValid(auction: DriverAuction, signal: AbortSignal): Promise<readonly Solution[]> {
    const left = Math.max(0, auction.deadline - Date.now());
    const deadline = auction.deadline - Math.min(Math.ceil(left / 5), MAX_SIMULATION_TIME);
    const found = await untilAborted(engine.solve({ ...auction, deadline }, signal), signal);
    const valid = found.map(async (solution) => {
      const reason = await untilAborted(settler.simulate(solution, signal), signal);
      return reason === undefined ? [solution] : findPart(auction, solution, reason, signal);
    });
    const results = await Promise.allSettled(valid);
    const solutions = results.flatMap((result) => (result.status === 'fulfilled' ? result.value : []));
    const failed = results.flatMap((result): unknown[] => (result.status === 'rejected' ? [result.reason] : []));
    if (solutions.length === 0 && failed.length > 0) throw failed[0];
    if (!signal.aborted) failed.forEach(report);
    return solutions;
  }

  /** Finds a solution of some orders of one that fails, in half of the time that is left. */
  async function findPart(auction: DriverAuction, solution: Solution, reason: string, signal: AbortSignal) {
    const half = Math.floor((Date.now() + auction.deadline) / 2);
    const find = async (limited: AbortSignal): Promise<readonly Solution[]> => {
      const { parts } = await untilAborted(failures.divide(auction, solution, reason, limited), limited);
      for (const orders of parts) {
        const valid = await findValid({ ...auction, orders }, limited);
        // Another part may need the same funds.
        if (valid.length > 0) return valid;
      }
      return [];
    };
    // Without time for it, the other solutions are offered.
    return beforeDeadline(signal, half, find).catch((error: unknown) => {
      if (error instanceof DriverFailure) return [];
      throw error;
    });
  }

  async function solve(body: unknown, signal: AbortSignal): Promise<object> {
    const auction = parseAuction(body);
    const left = Math.max(0, auction.deadline - Date.now());
    const deadline = auction.deadline - Math.min(Math.ceil(left / 10), MAX_RESPONSE_TIME);
    const open = { ...auction, orders: failures.leaveOut(auction.orders), deadline };
    const valid = await beforeDeadline(signal, deadline, (limited) => findValid(open, limited));
    const solutions = sortByScore(valid, auction.prices).slice(0, maxSolutions);
    const offers = solutions.map((solution): [number, Offer] => [++lastId, { solution, receipt: undefined }]);
    // An earlier offer of the same auction may still be settled, such as one to a book that has restarted.
    solved.set(auction.id, new Map([...[...(solved.get(auction.id) ?? [])].slice(-MAX_EARLIER), ...offers]));
    const [oldest] = solved.keys();
    if (solved.size > keep && oldest !== undefined) solved.delete(oldest);
    return {
      solutions: offers.map(([id, { solution }]) => describeSolution(solution, id, settler.address, auction.prices)),
    };
  }

  function findOffer(body: unknown): { readonly offer: Offer; readonly auctionId: number } {
    const { solutionId, auctionId: id } = requireObject(body);
    const auctionId = parseInteger('auctionId', id);
    const offer = solved.get(auctionId)?.get(parseInteger('solutionId', solutionId));
    if (offer === undefined) throw new DriverFailure('SolutionNotAvailable', 'the solution is unknown');
    return { offer, auctionId };
  }

  async function settle(body: unknown): Promise<object> {
    const name = 'submissionDeadlineLatestBlock';
    const latest = parseInteger(name, requireObject(body)[name]);
    const { offer, auctionId } = findOffer(body);
    const { reverted, transactionHash } = await send(offer, auctionId, latest);
    if (reverted) throw new DriverFailure('FailedToSubmit', `transaction ${transactionHash} was reverted`);
    return { transactionHash };
  }

  async function quote(query: URLSearchParams, signal: AbortSignal): Promise<object> {
    const order = toQuotedOrder(query);
    const deadline = parseDeadline(query.get('deadline'));
    const auction: SolvableAuction = { id: 0, block: 0, orders: [order], prices: {}, ...deadline };
    const [solution] = await beforeDeadline(signal, deadline?.deadline, (limited) =>
      untilAborted(engine.solve(auction, limited), limited),
    );
    if (solution === undefined) throw new DriverFailure('QuotingFailed', 'there is no route');
    return {
      clearingPrices: formatPrices(solution.prices),
      preInteractions: (solution.pre ?? []).map(toTextInteraction),
      interactions: solution.interactions.map(toTextInteraction),
      solver: settler.address,
      gas,
      jitOrders: [],
    };
  }

  async function respond(request: Request): Promise<object> {
    const { pathname, searchParams } = new URL(request.url);
    const path = `${request.method} ${pathname.slice(pathname.lastIndexOf('/'))}`;
    if (path === 'GET /quote') return quote(searchParams, request.signal);
    if (!['POST /solve', 'POST /reveal', 'POST /settle', 'POST /notify'].includes(path)) {
      throw new DriverFailure('MalformedRequest', `${path} is not a route`);
    }
    const body = await readBody(request, maxBytes);
    if (path === 'POST /solve') return solve(body, request.signal);
    if (path === 'POST /settle') return settle(body);
    if (path === 'POST /notify') return {};
    const { offer, auctionId } = findOffer(body);
    const internalized = encodeSettlement(offer.solution, auctionId);
    return { calldata: { internalized, uninternalized: internalized } };
  }

  return {
    async handle(request) {
      try {
        return Response.json(await respond(request));
      } catch (error) {
        if (!(error instanceof DriverFailure)) report(error);
        const kind = error instanceof DriverFailure ? error.kind : 'Unknown';
        const description = error instanceof DriverFailure ? error.message : 'an unexpected error occurred';
        return Response.json({ kind, description }, { status: 400 });
      }
    },
  };
}

function toTextInteraction({ target, value, callData }: Solution['interactions'][number]) {
  return { target, value: String(value), callData };
}

/**
 * Creates the function that sends a solution once. A repeated request receives the same result, unless the first one
 * has sent nothing.
 */
function createSender(settler: Settler) {
  // One account sends one transaction at a time, so that their nonces do not collide.
  let sending: Promise<unknown> = Promise.resolve();
  return (offer: Offer, auctionId: number, latest: number): Promise<SettlementReceipt> => {
    if (offer.receipt !== undefined) return offer.receipt;
    const { solution } = offer;
    const submit = async () => {
      try {
        const block = await settler.block?.();
        if (block !== undefined && block >= latest) throw new DriverFailure('DeadlineExceeded', 'the deadline is over');
        const reason = await settler.simulate(solution);
        if (reason !== undefined) throw new DriverFailure('FailedToSubmit', reason);
      } catch (error) {
        offer.receipt = undefined;
        throw error;
      }
      return settler.submit(solution, auctionId);
    };
    offer.receipt = sending.then(submit, submit);
    sending = offer.receipt;
    return offer.receipt;
  };
}

/**
 * Runs work until a deadline, in milliseconds since 1970, at which its signal is aborted.
 *
 * @throws DriverFailure `DeadlineExceeded` if the work does not end in time.
 */
async function beforeDeadline<T>(
  signal: AbortSignal,
  deadline: number | undefined,
  work: (limited: AbortSignal) => Promise<T>,
): Promise<T> {
  const left = Math.min(Math.max(0, (deadline ?? 0) - Date.now()), MAX_TIMER);
  const limited = deadline === undefined ? signal : AbortSignal.any([signal, AbortSignal.timeout(left)]);
  try {
    return await work(limited);
  } catch (error) {
    if (!limited.aborted || signal.aborted) throw error;
    throw new DriverFailure('DeadlineExceeded', 'the deadline is over');
  }
}

/** Reads JSON of limited size. */
async function readBody(request: Request, maxBytes: number): Promise<unknown> {
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let size = 0;
  for await (const chunk of request.body ?? []) {
    size += chunk.length;
    if (size > maxBytes) throw new DriverFailure('MalformedRequest', `the body must have at most ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  const text = await new Blob(chunks).text();
  try {
    return JSON.parse(text);
  } catch {
    throw new DriverFailure('MalformedRequest', 'the body must be JSON');
  }
}

function requireObject(body: unknown): Readonly<Record<string, unknown>> {
  if (typeof body !== 'object' || body === null)
    throw new DriverFailure('MalformedRequest', 'the body must be an object');
  return body as Readonly<Record<string, unknown>>; // an object
}

/** Parses an integer, which may be a text. */
function parseInteger(name: string, value: unknown): number {
  const isInteger = typeof value === 'number' || (typeof value === 'string' && /^[0-9]+$/.test(value));
  if (isInteger && Number.isSafeInteger(Number(value))) return Number(value);
  throw new DriverFailure('MalformedRequest', `${name} must be an integer`);
}

/** An auction with the time at which its response must be complete. */
type DriverAuction = SolvableAuction & Required<Pick<SolvableAuction, 'deadline'>>;

function parseAuction(body: unknown): DriverAuction {
  const { id, orders, tokens, deadline } = requireObject(body);
  const [number, time] = [Number(id), parseDateTime(deadline)];
  if (!Number.isSafeInteger(number)) throw new DriverFailure('InvalidAuctionId', 'id must be an integer');
  if (!Array.isArray(orders) || !Array.isArray(tokens) || time === undefined) {
    throw new DriverFailure('MalformedRequest', 'orders and tokens must be lists, and deadline a date');
  }
  const priced = tokens.flatMap((token): [Address, string][] => {
    const { address, price } = requireObject(token);
    return typeof price === 'string' ? [[String(address) as Address, price]] : []; // an address of the book
  });
  const list = orders as readonly AuctionOrder[]; // rendered by the book from this type
  const prices = Object.fromEntries(priced);
  return { id: number, block: 0, orders: list, prices, deadline: time };
}

/** Parses the deadline of a quote. `undefined` if it has none. */
function parseDeadline(text: string | null): { readonly deadline: number } | undefined {
  if (text === null) return undefined;
  const deadline = parseDateTime(text);
  if (deadline === undefined) throw new DriverFailure('MalformedRequest', 'deadline must be a date');
  return { deadline };
}

/** The limit of a quoted order that is not fixed: any price is within it, and products with prices fit in 256 bits. */
const UNLIMITED = { sell: String(2n ** 143n), buy: '1' };

/** Creates the order that a quote stands for. Its limit price is never reached. */
function toQuotedOrder(query: URLSearchParams): AuctionOrder {
  const [kind, amount] = [query.get('kind'), query.get('amount') ?? ''];
  const [sellToken, buyToken] = [parseToken(query.get('sellToken')), parseToken(query.get('buyToken'))];
  if ((kind !== 'sell' && kind !== 'buy') || !/^[1-9][0-9]{0,77}$/.test(amount)) {
    throw new DriverFailure('MalformedRequest', 'kind must be sell or buy, and amount a positive integer');
  }
  const zero = (bytes: number): Hex => `0x${'00'.repeat(bytes)}`;
  return {
    uid: zero(56),
    sellToken,
    buyToken,
    sellAmount: kind === 'sell' ? amount : UNLIMITED.sell,
    buyAmount: kind === 'sell' ? UNLIMITED.buy : amount,
    protocolFees: [],
    created: 0,
    validTo: 0xffff_ffff,
    kind,
    receiver: null,
    owner: zero(20),
    partiallyFillable: false,
    executed: '0',
    preInteractions: [],
    postInteractions: [],
    sellTokenBalance: 'erc20',
    buyTokenBalance: 'erc20',
    class: 'limit',
    appData: zero(32),
    signingScheme: 'eip1271',
    signature: '0x',
    quote: { sellAmount: '0', buyAmount: '0', fee: '0', solver: zero(20) },
  };
}

function parseToken(text: string | null): Address {
  if (text !== null && /^0x[0-9a-fA-F]{40}$/.test(text)) return text.toLowerCase() as Address; // matches the pattern
  throw new DriverFailure('MalformedRequest', 'sellToken and buyToken must be addresses');
}
