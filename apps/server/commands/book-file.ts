import type { Domain, NewOrder, OrderInsert, OrderQuote, StoredOrder } from 'intentbook';

/** The first line of an export. */
export interface Header extends Domain {
  readonly intentbook: 1;
}

/** The line of an order. */
export interface OrderLine {
  readonly uid: string;
  /** Milliseconds since 1970. */
  readonly creationDate: number;
  /** Effective validity, in seconds since 1970. */
  readonly validTo: number;
  readonly cancelled: boolean;
  /** The immutable members, exactly as stored. */
  readonly body: string;
  readonly fullAppData: string | null;
  readonly quote: OrderQuote | null;
}

/** The last line: the number of orders and the SHA-256 of all lines before. */
export interface Trailer {
  readonly orders: number;
  readonly sha256: string;
}

export const formatLine = (line: Header | OrderLine | Trailer): string => `${JSON.stringify(line)}\n`;

/** Formats the data of an order that comes from its owner. Chain events can be indexed again. */
export function orderLine({ uid, creationDate, validTo, body, fullAppData, quote, ...order }: StoredOrder): string {
  const cancelled = order.state === 'cancelled';
  return formatLine({ uid, creationDate, validTo, cancelled, body, fullAppData, quote });
}

/** Parses a line. @throws Error if it is not a line of an export. */
export function parseLine(text: string): Header | OrderLine | Trailer {
  let value: unknown;
  try {
    value = JSON.parse(text.replace(/^\uFEFF/, ''));
  } catch (cause) {
    throw new Error('the file is not an export: a line is not JSON', { cause });
  }
  if (typeof value !== 'object' || value === null) throw new Error('a line is not an object');
  return value as Header | OrderLine | Trailer; // the digest protects the content
}

/** Converts the line of an order to an insert. */
export function toImportedOrder({ uid, creationDate, validTo, body, fullAppData, quote }: OrderLine): OrderInsert {
  const { owner, sellToken, buyToken, signingScheme, appData } = JSON.parse(body) as NewOrder; // the body of an order
  const waits = signingScheme === 'presign';
  return {
    order: {
      uid: uid as NewOrder['uid'],
      owner,
      creationDate,
      sellToken,
      buyToken,
      signingScheme,
      validTo,
      appData,
      body, // as it was stored
      state: waits ? 'presignaturePending' : 'open',
      quotaClass: waits ? 'pending' : 'open',
      ...(quote === null ? {} : { quote }),
    },
    ...(fullAppData === null ? {} : { document: { hash: appData, document: fullAppData } }),
  };
}
