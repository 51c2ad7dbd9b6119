/** What a code means, its one HTTP status, and whether the same request may succeed later. */
export interface ErrorEntry {
  readonly status: number;
  readonly meaning: string;
  readonly retryable: boolean;
}

const refusal = (status: number, meaning: string): ErrorEntry => ({ status, meaning, retryable: false });
const retryable = (status: number, meaning: string): ErrorEntry => ({ status, meaning, retryable: true });

/**
 * Every code that the engine and its HTTP interface answer with. The union type, the HTTP statuses, the OpenAPI document
 * and the README's table derive from this one.
 */
export const ERRORS = {
  InvalidJson: refusal(400, 'The body is not JSON, or is nested too deeply.'),
  InvalidBody: refusal(422, 'The body is JSON of the wrong shape; the path of the first bad field is named.'),
  InvalidParameter: refusal(400, 'A path or query parameter, or a quote request, is malformed.'),
  PayloadTooLarge: refusal(413, 'The body is larger than this route reads.'),
  UnsupportedMediaType: refusal(415, 'The body must be uncompressed and declared as application/json.'),
  NotFound: refusal(404, 'There is no such route, order or document.'),
  MethodNotAllowed: refusal(405, 'The route exists, but not with this method.'),
  TooManyOrderUids: refusal(400, 'More than 128 order UIDs in one request.'),
  RateLimited: retryable(429, 'Too many requests; wait as long as Retry-After says.'),
  InternalServerError: retryable(500, 'A fault of the server; nothing was stored.'),
  ChainUnavailable: retryable(500, 'A check against the chain failed or timed out; nothing was stored.'),
  Forbidden: refusal(403, 'The owner or the receiver is deny-listed, or the token of an operator is missing.'),

  InvalidSignature: refusal(400, 'The signature is malformed, or its signer is not the owner.'),
  MissingFrom: refusal(400, 'The signing scheme does not name the owner, so `from` must.'),
  AppdataFromMismatch: refusal(400, 'The app data names another signer than `from`.'),
  UnsupportedSigningScheme: refusal(400, 'Contract signatures cannot be checked here.'),
  DuplicatedOrder: refusal(400, 'An order with this UID is stored already.'),
  NonZeroFee: refusal(400, 'The signed fee must be 0.'),
  ZeroAmount: refusal(400, 'The sell or the buy amount is 0.'),
  SellAmountOverflow: refusal(400, 'The sell amount does not fit in 256 bits.'),
  BuyAmountOverflow: refusal(400, 'The buy amount does not fit in 256 bits.'),
  OrderExpired: refusal(400, 'The order is past its validity.'),
  InsufficientValidTo: refusal(400, 'The order expires too soon.'),
  ExcessiveValidTo: refusal(400, 'The order is valid for too long.'),
  InvalidValidFrom: refusal(400, 'The order would become valid too late.'),
  SameBuyAndSellToken: refusal(400, 'The order buys what it sells.'),
  InvalidNativeSellToken: refusal(400, 'Native currency cannot be sold by a signed order.'),
  UnsupportedToken: refusal(400, 'A token of the order is deny-listed.'),
  InvalidAppData: refusal(400, 'The app data is malformed, too large, or its document is not known.'),
  AppDataHashMismatch: refusal(400, 'The app data does not have the hash that was given.'),
  InsufficientBalance: refusal(400, 'The owner has too little of the sell token.'),
  InsufficientAllowance: refusal(400, 'The owner has not allowed the vault relayer to move enough of the sell token.'),
  TransferSimulationFailed: refusal(400, 'The sell token could not be moved in a simulation.'),
  TooManyLimitOrders: refusal(400, 'The owner has as many open orders as allowed.'),
  OldOrderActivelyBidOn: refusal(400, 'The order to replace may be settling right now.'),

  OrderNotFound: refusal(404, 'The order to cancel or replace does not exist.'),
  WrongOwner: refusal(401, 'The order to cancel or replace belongs to somebody else.'),
  OnChainOrder: refusal(400, 'The order can be cancelled on chain only.'),
  OrderFullyExecuted: refusal(400, 'The order is filled already.'),
  AlreadyCancelled: refusal(400, 'The order is cancelled already.'),

  NoLiquidity: refusal(400, 'No source has a price for this trade.'),
  SellAmountDoesNotCoverFee: refusal(400, 'The fee leaves nothing of the sell amount to trade.'),
} as const satisfies Readonly<Record<string, ErrorEntry>>;

/** The closed set of codes: `errorType` on the wire. */
export type ErrorCode = keyof typeof ERRORS;

/** What may travel in `data`: JSON. */
export type ErrorData = Readonly<Record<string, unknown>>;

/** The body of every answer of the order book interface that is not a success. */
export interface ErrorBody {
  readonly errorType: ErrorCode;
  readonly description: string;
  readonly data?: ErrorData;
}

/**
 * A refusal: something that a caller asked for and cannot have, with a code to branch on. Refusals are returned;
 * what is thrown besides them is a fault of the host, the store or the engine.
 */
export class OrderBookError extends Error {
  override readonly name = 'OrderBookError';
  readonly code: ErrorCode;
  /** Numbers and identifiers that help to mend the request. */
  readonly data: ErrorData | undefined;

  constructor(code: ErrorCode, description?: string, data?: ErrorData) {
    super(description ?? ERRORS[code].meaning);
    this.code = code;
    this.data = data;
  }

  /** The HTTP status of this code. */
  get status(): number {
    return ERRORS[this.code].status;
  }

  /** Whether the same request may succeed later, unchanged. */
  get retryable(): boolean {
    return ERRORS[this.code].retryable;
  }

  /** The wire's form of this refusal. */
  toJSON(): ErrorBody {
    const body = { errorType: this.code, description: this.message };
    return this.data === undefined ? body : { ...body, data: this.data };
  }
}
