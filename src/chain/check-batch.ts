import { formatValue } from '../protocol/format-value.ts';
import { assertKnownOptions } from '../validation/options.ts';
import type { ChainBatch } from './decode-batch.ts';

const MEMBERS: readonly (keyof ChainBatch)[] = ['events', 'through', 'after', 'rolledBackTo', 'blocks', 'settleCalls'];

/**
 * Checks the members of a batch of the host, and its hex text. An address with a checksum, as libraries return it,
 * would match no order: an invalidation would be ignored, and a trade would belong to an unknown account.
 *
 * @throws TypeError naming the first member that is unknown, or not in lower case.
 */
export function assertBatch(batch: ChainBatch): void {
  assertKnownOptions('chain.apply', batch, MEMBERS);
  const { events, through, blocks = [], settleCalls = new Map() } = batch;
  const checkMembers = (path: string, members: object): void => {
    for (const [name, value] of Object.entries(members) as [string, unknown][]) {
      if (typeof value === 'string') check(`${path}.${name}`, value);
      else if (typeof value === 'object' && value !== null) checkMembers(`${path}.${name}`, value);
    }
  };
  events.forEach((event, i) => void checkMembers(`events[${i}]`, event));
  checkMembers('through', through);
  blocks.forEach((block, i) => void checkMembers(`blocks[${i}]`, block));
  for (const hash of settleCalls.keys()) check('the hash of settleCalls', hash);
}

function check(path: string, text: string): void {
  // The name of an event is not hex.
  if (!/^0x/i.test(text) || /^0x[0-9a-f]*$/.test(text)) return;
  throw new TypeError(`chain.apply: ${path} must be hex in lower case, got ${formatValue(text)}`);
}
