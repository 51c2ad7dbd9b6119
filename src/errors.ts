/** What a code means, its one HTTP status, and whether the same request may succeed later. */
export interface ErrorEntry {
  readonly status: number;
  readonly meaning: string;
  readonly retryable: boolean;
}

const rejection = (status: number, meaning: string): ErrorEntry => ({ status, meaning, retryable: false });
const retryable = (status: number, meaning: string): ErrorEntry => ({ status, meaning, retryable: true });

/**
 * Every code that the engine and its HTTP interface answer with. The union type, the HTTP statuses, the OpenAPI document
 * and the README's table derive from this one.
 */
export const ERRORS = {
  InvalidJson: rejection(400, 'The body is not JSON, or is nested too deeply.'),
  InvalidBody: rejection(422, 'The body is JSON of the wrong shape; the path of the first bad field is named.'),
  InvalidParameter: rejection(400, 'A path or query parameter, or a quote request, is malformed.'),
  PayloadTooLarge: rejection(413, 'The body is larger than this route reads.'),
  UnsupportedMediaType: rejection(415, 'The body must be uncompressed and declared as application/json.'),
  NotFound: rejection(404, 'There is no such route, order or document.'),
  MethodNotAllowed: rejection(405, 'The route exists, but not with this method.'),
  TooManyOrderUids: rejection(400, 'More than 128 order UIDs in one request.'),
  RateLimited: retryable(429, 'Too many requests; wait as long as Retry-After says.'),
  InternalServerError: retryable(500, 'A failure of the server; nothing was stored.'),
  ChainUnavailable: retryable(500, 'A check against the chain failed or timed out; nothing was stored.'),
  Forbidden: rejection(403, 'The owner or the receiver is deny-listed, or the token of an operator is missing.'),

  InvalidSignature: rejection(400, 'The signature is malformed, or its signer is not the owner.'),
  MissingFrom: rejection(400, 'The signing scheme does not name the owner, so `from` must.'),
  AppdataFromMismatch: rejection(400, 'The app data names another signer than `from`.'),
  UnsupportedSigningScheme: rejection(400, 'Contract signatures cannot be checked here.'),
  DuplicatedOrder: rejection(400, 'An order with this UID is stored already.'),
  NonZeroFee: rejection(400, 'The signed fee must be 0.'),
  ZeroAmount: rejection(400, 'The sell or the buy amount is 0.'),
  SellAmountOverflow: rejection(400, 'The sell amount does not fit in 256 bits.'),
  BuyAmountOverflow: rejection(400, 'The buy amount does not fit in 256 bits.'),
  OrderExpired: rejection(400, 'The order is past its validity.'),
  InsufficientValidTo: rejection(400, 'The order expires too soon.'),
  ExcessiveValidTo: rejection(400, 'The order is valid for too long.'),
  InvalidValidFrom: rejection(400, 'The order would become valid too late.'),
  SameBuyAndSellToken: rejection(400, 'The order buys what it sells.'),
  InvalidNativeSellToken: rejection(400, 'Native currency cannot be sold by a signed order.'),
  UnsupportedToken: rejection(400, 'A token of the order is deny-listed.'),
  InvalidAppData: rejection(400, 'The app data is malformed, too large, or its document is not known.'),
  AppDataHashMismatch: rejection(400, 'The app data does not have the hash that was given.'),
  InsufficientBalance: rejection(400, 'The owner has too little of the sell token.'),
  InsufficientAllowance: rejection(
    400,
    'The owner has not allowed the vault relayer to move enough of the sell token.',
  ),
  TransferSimulationFailed: rejection(400, 'The sell token could not be moved in a simulation.'),
  TooManyLimitOrders: rejection(400, 'The owner has as many open orders as allowed.'),
  OldOrderActivelyBidOn: rejection(400, 'The order to replace may be settling right now.'),

  OrderNotFound: rejection(404, 'The order to cancel or replace does not exist.'),
  WrongOwner: rejection(401, 'The order to cancel or replace belongs to somebody else.'),
  OnChainOrder: rejection(400, 'The order can be cancelled on chain only.'),
  OrderFullyExecuted: rejection(400, 'The order is filled already.'),
  AlreadyCancelled: rejection(400, 'The order is cancelled already.'),

  NoLiquidity: rejection(400, 'No source has a price for this trade.'),
  SellAmountDoesNotCoverFee: rejection(400, 'The fee leaves nothing of the sell amount to trade.'),
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
 * A rejection: something that a caller asked for and cannot have, with a code to branch on. Rejections are returned;
 * what is thrown besides them is a failure of the host, the store or the engine.
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

  /** The wire's form of this rejection. */
  toJSON(): ErrorBody {
    const body = { errorType: this.code, description: this.message };
    return this.data === undefined ? body : { ...body, data: this.data };
  }
}
