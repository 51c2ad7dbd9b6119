import { ERRORS, type ErrorCode, type ErrorDetail, SOLVER_ERROR_CODES } from '../errors.ts';

/** A code and its HTTP status. */
export interface ProfileCode {
  readonly code: ErrorCode;
  readonly status: number;
}

/** A rejection whose code or status differs between the profiles. */
export interface CodeDifference {
  readonly code: ErrorCode;
  /** The case of the code. Absent: every case. */
  readonly detail?: ErrorDetail;
  /** The routes that return it. */
  readonly routes: readonly string[];
  /** Whether these routes return the code in no other case. Default: only without `detail`. */
  readonly isOnlyCase?: true;
  readonly production: ProfileCode;
  /** The case in words, for the documentation. */
  readonly meaning: string;
}

const SUBMISSION = ['POST /api/v1/orders'];
const QUOTES = ['POST /api/v1/quote', 'POST /api/v1/quote/stream'];
const UPLOADS = ['PUT /api/v1/app_data', 'PUT /api/v1/app_data/:hash'];
const LISTINGS = ['GET /api/v1/account/:owner/orders', 'GET /api/v1/orders'];
const PRICES = ['GET /api/v1/token/:token/native_price', ...QUOTES];

/** All rejections whose code or status differs between the profiles. */
export const CODE_DIFFERENCES: readonly CodeDifference[] = [
  {
    code: 'InvalidSignature',
    detail: 'contract',
    routes: SUBMISSION,
    production: { code: 'InvalidEip1271Signature', status: 400 },
    meaning: 'The contract of the owner rejects the signature.',
  },
  {
    code: 'InvalidSignature',
    detail: 'signer',
    routes: SUBMISSION,
    production: { code: 'WrongOwner', status: 400 },
    meaning: 'The signer of a new order is not `from`.',
  },
  {
    code: 'OrderExpired',
    detail: 'validTo',
    routes: SUBMISSION,
    production: { code: 'InsufficientValidTo', status: 400 },
    meaning: 'The new order is past its validity.',
  },
  {
    code: 'OrderExpired',
    detail: 'validTo',
    routes: QUOTES,
    isOnlyCase: true,
    production: { code: 'InsufficientValidTo', status: 400 },
    meaning: 'The quoted order is past its validity.',
  },
  {
    code: 'InvalidAppData',
    detail: 'upload',
    routes: UPLOADS,
    isOnlyCase: true,
    production: { code: 'AppDataInvalid', status: 400 },
    meaning: 'The uploaded document is malformed or too large.',
  },
  {
    code: 'InvalidParameter',
    detail: 'limit',
    routes: LISTINGS,
    production: { code: 'LIMIT_OUT_OF_BOUNDS', status: 400 },
    meaning: 'The page size is not from 1 to 1000.',
  },
  {
    code: 'NoLiquidity',
    routes: PRICES,
    production: { code: 'NoLiquidity', status: 404 },
    meaning: 'No estimator has a price.',
  },
  ...SOLVER_ERROR_CODES.map((code) => ({
    code: 'NoLiquidity' as const,
    detail: code,
    routes: PRICES,
    production: { code, status: 400 },
    meaning: ERRORS[code].meaning,
  })),
  {
    code: 'InvalidParameter',
    detail: 'shape',
    routes: QUOTES,
    production: { code: 'InvalidBody', status: 422 },
    meaning: 'A quote request is JSON of the wrong shape, such as an unknown enumeration value.',
  },
];
