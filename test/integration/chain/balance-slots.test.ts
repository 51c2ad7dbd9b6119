import type { Hex } from 'intentbook';
import type { RpcClient } from 'intentbook/viem';
import { describe, expect, it } from 'vitest';
import { createBalanceSlots, toWord } from '../../../adapters/viem/balance-slots.ts';

const TOKEN: Hex = `0x${'70'.repeat(20)}`;
const HOLDER: Hex = `0x${'40'.repeat(20)}`;
const [OTHER, BALANCE] = [toWord(1n), toWord(2n)];

/**
 * Returns a node with a token that reads two slots, of which the second is the balance.
 *
 * @param check - Called before each check of a slot.
 */
function tokenNode(check: (key: Hex) => void) {
  const checked: Hex[] = [];
  const node: RpcClient = {
    async request({ method, params }) {
      if (method === 'eth_createAccessList') {
        // Some nodes write an empty list as null.
        return {
          accessList: [
            { address: HOLDER, storageKeys: null },
            { address: TOKEN, storageKeys: [OTHER, BALANCE] },
          ],
        };
      }
      const [, , overrides] = params as [unknown, unknown, Record<Hex, { stateDiff: Record<Hex, Hex> }>];
      const [[key, value] = [OTHER, OTHER]] = Object.entries(overrides[TOKEN]?.stateDiff ?? {}) as [Hex, Hex][];
      checked.push(key);
      check(key);
      return key === BALANCE ? value : toWord(7n);
    },
  };
  return { node, checked };
}

const find = ({ node }: ReturnType<typeof tokenNode>, slots = createBalanceSlots(node)) =>
  slots.find(TOKEN, HOLDER, new AbortController().signal);

describe('balance slots', () => {
  it.each(['execution reverted', 'invalid opcode: INVALID', 'out of gas', 'EVM error OutOfGas', 'VM execution error'])(
    'skip a variable without which the token fails (%s)',
    async (details) => {
      const node = tokenNode((key) => {
        if (key === OTHER) throw Object.assign(new Error('failed'), { details });
      });
      expect(await find(node)).toEqual({ contract: TOKEN, key: BALANCE });
    },
  );

  it.each([
    'HTTP request failed. Status: 429',
    'The request took too long to respond.',
    'Request exceeds defined limit.',
  ])('are searched again after a failure of the node (%s)', async (shortMessage) => {
    let isFailing = true;
    const node = tokenNode(() => {
      if (isFailing) throw Object.assign(new Error('failed'), { shortMessage });
    });
    const slots = createBalanceSlots(node.node);
    await expect(find(node, slots)).rejects.toThrow(shortMessage);
    isFailing = false;
    expect(await find(node, slots)).toEqual({ contract: TOKEN, key: BALANCE });
  });
});
