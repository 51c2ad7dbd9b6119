/** The meaning of a code, its HTTP status, and whether the same request may succeed later. */
export interface ErrorEntry {
  readonly status: number;
  readonly meaning: string;
  readonly retryable: boolean;
}

const rejection = (status: number, meaning: string): ErrorEntry => ({ status, meaning, retryable: false });
const retryable = (status: number, meaning: string): ErrorEntry => ({ status, meaning, retryable: true });

/**
 * All rejection codes of the engine and its HTTP interface. The union type, the HTTP statuses, the OpenAPI document and
 * docs/reference/errors.md are derived from this table.
 */
export const ERRORS = {
  InvalidJson: rejection(400, 'The body is not JSON, or is nested too deeply.'),
  InvalidBody: rejection(422, 'The body is JSON of the wrong shape. `data.path` names the first invalid field.'),
  InvalidParameter: rejection(400, 'A path or query parameter, or a quote request, is malformed.'),
  PayloadTooLarge: rejection(413, 'The body exceeds the limit of the route.'),
  UnsupportedMediaType: rejection(415, 'The body must be uncompressed and declared as application/json.'),
  NotFound: rejection(404, 'There is no such route, order or document.'),
  MethodNotAllowed: rejection(405, 'The route exists, but not with this method.'),
  InvalidLimit: rejection(400, 'The page size of a list of trades is not valid.'),
  LIMIT_OUT_OF_BOUNDS: rejection(400, 'The page size of a list of orders is not from 1 to 1000.'),
  InvalidTradeFilter: rejection(400, 'A list of trades needs either an owner or an order.'),
  TooManyOrderUids: rejection(400, 'More than 128 order UIDs in one request.'),
  RateLimited: retryable(429, 'Too many requests. Retry after the seconds in `Retry-After`.'),
  InternalServerError: retryable(500, 'An unexpected failure of the server. Nothing was stored.'),
  ChainUnavailable: retryable(500, 'A check against the chain failed or timed out. Nothing was stored.'),
  OutcomeUnknown: retryable(500, 'The change may be stored or not. Query the order by its UID before a retry.'),
  UpstreamUnavailable: retryable(503, 'The order book behind this one cannot be reached. Nothing was sent or stored.'),
  Forbidden: rejection(403, 'The owner or the receiver is deny-listed, or the operator token is missing or wrong.'),

  InvalidEip1271Signature: rejection(400, 'The contract of the owner rejects the signature.'),
  InvalidSignature: rejection(400, 'The signature is malformed, or its signer is not the owner.'),
  MissingFrom: rejection(400, '`from` is required, since the signing scheme does not identify the owner.'),
  AppdataFromMismatch: rejection(400, 'The app data names another signer than `from`.'),
  UnsupportedSigningScheme: rejection(400, 'This book cannot verify contract signatures.'),
  DuplicatedOrder: rejection(400, 'An order with this UID is already stored.'),
  NonZeroFee: rejection(400, 'The signed fee must be 0.'),
  ZeroAmount: rejection(400, 'The sell or the buy amount is 0.'),
  SellAmountOverflow: rejection(400, 'The sell amount does not fit in 256 bits.'),
  BuyAmountOverflow: rejection(400, 'The buy amount does not fit in 256 bits.'),
  OrderExpired: rejection(400, 'The order is past its validity.'),
  InsufficientValidTo: rejection(400, 'The order expires too soon.'),
  ExcessiveValidTo: rejection(400, 'The order is valid for too long.'),
  InvalidValidFrom: rejection(400, 'The order would become valid too late.'),
  SameBuyAndSellToken: rejection(400, 'The sell token and the buy token are the same.'),
  InvalidNativeSellToken: rejection(400, 'Native currency cannot be sold by a signed order.'),
  UnsupportedToken: rejection(400, 'A token is deny-listed, or an estimator reports that it cannot be traded.'),
  InvalidAppData: rejection(400, 'The app data is malformed or too large, or its document is unknown.'),
  AppDataInvalid: rejection(400, 'The uploaded document is malformed or too large.'),
  AppDataHashMismatch: rejection(400, 'The hash of the app data differs from the given hash.'),
  InsufficientBalance: rejection(400, 'The balance of the owner in the sell token is too low.'),
  InsufficientAllowance: rejection(400, 'The allowance of the owner for the vault relayer is too low.'),
  UnsupportedSellTokenSource: rejection(400, 'The book does not accept sell tokens from the vault.'),
  UnsupportedBuyTokenDestination: rejection(400, 'The book does not accept buy tokens into the vault.'),
  TooMuchGas: rejection(400, 'Hooks and signature of the order need too much gas.'),
  TransferSimulationFailed: rejection(400, 'A simulated transfer of the sell token failed.'),
  TooManyLimitOrders: rejection(400, 'The owner has the maximum number of open orders.'),
  OldOrderActivelyBidOn: rejection(400, 'The order to replace may be settling right now.'),

  OrderNotFound: rejection(404, 'The order to cancel or replace does not exist.'),
  WrongOwner: rejection(401, 'The order to cancel or replace belongs to another owner.'),
  OnChainOrder: rejection(400, 'The order can only be cancelled on chain.'),
  OrderFullyExecuted: rejection(400, 'The order is already filled.'),
  AlreadyCancelled: rejection(400, 'The order is already cancelled.'),

  NoLiquidity: rejection(400, 'No estimator has a price for this trade.'),
  CustomSolverError: rejection(400, 'A solver rejects the trade for another reason.'),
  InsufficientLiquidity: rejection(400, 'A solver reports that the liquidity is not sufficient.'),
  TokenTemporarilySuspended: rejection(400, 'A solver reports that a token is suspended.'),
  TradingOutsideAllowedWindow: rejection(400, 'A solver reports that a token is not traded at this time.'),
  QuoteNotVerified: rejection(400, 'No quote could be verified by a simulation.'),
  SellAmountDoesNotCoverFee: rejection(400, 'The fee is at least the sell amount.'),
} as const satisfies Readonly<Record<string, ErrorEntry>>;

/** The closed set of rejection codes: `errorType` on the wire. */
export type ErrorCode = keyof typeof ERRORS;

/** Codes with which a solver rejects a trade. */
export const SOLVER_ERROR_CODES = [
  'InsufficientLiquidity',
  'TradingOutsideAllowedWindow',
  'TokenTemporarilySuspended',
  'CustomSolverError',
] as const satisfies readonly ErrorCode[];

/** A code with which a solver rejects a trade. */
export type SolverErrorCode = (typeof SOLVER_ERROR_CODES)[number];

/** The case of a code that has several. The production profile has a code for each case. */
export type ErrorDetail = 'contract' | 'signer' | 'shape' | 'validTo' | 'limit' | 'upload' | SolverErrorCode;

/** The `data` of a rejection, as JSON. */
export type ErrorData = Readonly<Record<string, unknown>>;

/** The body of every error response of the order book interface. */
export interface ErrorBody {
  readonly errorType: ErrorCode;
  readonly description: string;
  readonly data?: ErrorData;
}

/** Formats sentences as a message: in lower case, joined by semicolons, without a full stop. */
const toMessage = (sentences: string) =>
  sentences.replace(/(?:^|\. )[A-Z]/g, (start) => start.replace('.', ';').toLowerCase()).replace(/\.$/, '');

/**
 * A rejection: a request that breaks a rule, with a code to branch on. Most methods return rejections as data. Other
 * errors are failures of the host, the store or the engine.
 */
export class OrderBookError extends Error {
  override readonly name = 'OrderBookError';
  readonly code: ErrorCode;
  /** Numbers and identifiers that help to correct the request. */
  readonly data: ErrorData | undefined;
  /** The case of the code, if it has several. */
  readonly detail: ErrorDetail | undefined;

  constructor(code: ErrorCode, description?: string, data?: ErrorData, detail?: ErrorDetail) {
    super(description ?? toMessage(ERRORS[code].meaning));
    this.code = code;
    this.data = data;
    this.detail = detail;
  }

  /** The HTTP status of this code. */
  get status(): number {
    return ERRORS[this.code].status;
  }

  /** Whether the same request may succeed later. */
  get retryable(): boolean {
    return ERRORS[this.code].retryable;
  }

  /** Returns the wire format of this rejection. */
  toJSON(): ErrorBody {
    const body = { errorType: this.code, description: this.message };
    return this.data === undefined ? body : { ...body, data: this.data };
  }
}

/** Returns whether the same request may succeed later. */
export function isTemporary({ retryable, data }: OrderBookError): boolean {
  return retryable || data?.['temporary'] === true;
}
