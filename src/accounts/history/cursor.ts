import { OrderBookError } from '../../errors.ts';
import type { TradeCursor } from '../../ports/chain-store.ts';

/** Maximum length of a cursor: positions in more than a hundred books. */
const MAX_LENGTH = 10_000;

/**
 * Formats the position in the trades of each book, for clients opaque: `<feed>~<block>-<log index>`, joined by `.`. A
 * book without a position has no more trades.
 */
export function formatHistoryCursor(positions: ReadonlyMap<string, TradeCursor>): string {
  return [...positions].map(([key, { blockNumber, logIndex }]) => `${key}~${blockNumber}-${logIndex}`).join('.');
}

/** Parses a cursor. @throws OrderBookError `InvalidParameter`. */
export function parseHistoryCursor(text: string): Map<string, TradeCursor> {
  if (text.length > MAX_LENGTH) throw createCursorError();
  return new Map(text.split('.').map(parsePosition));
}

function parsePosition(text: string): [string, TradeCursor] {
  const [, key, block, log] = /^(\d{1,15}-0x[0-9a-f]{40})~(\d{1,15})-(\d{1,9})$/.exec(text) ?? [];
  if (key === undefined) throw createCursorError();
  return [key, { blockNumber: Number(block), logIndex: Number(log) }];
}

function createCursorError(): OrderBookError {
  const parameter = 'cursor';
  return new OrderBookError('InvalidParameter', 'cursor: must be the `next` value of a page', { parameter });
}
