import type { Address, Hex, SimulatedLog, TokenTransfer } from 'intentbook';

const ZERO_ADDRESS: Address = `0x${'00'.repeat(20)}`;

/** `Transfer(address,address,uint256)` of ERC-20. */
const TRANSFER = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef';

/** `Deposit(address,uint256)` and `Withdrawal(address,uint256)` of wrapped native currency. */
const DEPOSIT = '0xe1fffcc4923d04b559f4d29a8bfc6cda04eb5b0d3c460751c2402c5c5cc9109c';
const WITHDRAWAL = '0x7fcf532c15f0a6db0bd6d0e038bea71d30d808c7d98cb3bf7268a95bf5081b65';

/** Length of a word in hex. The amount of an ERC-721 transfer is a topic, and its data is empty. */
const DATA_SIZE = 66;

/**
 * Decodes the movements of ERC-20 tokens and native currency from logs.
 *
 * @param wrappedNative - The contract whose `Deposit` and `Withdrawal` mint and burn.
 */
export function decodeTokenTransfers(
  logs: readonly SimulatedLog[],
  wrappedNative: Address | undefined,
): TokenTransfer[] {
  const transfers = logs.flatMap(({ address, topics, data }) => decodeTransfer(address, topics, data));
  const isListed = (other: TokenTransfer) =>
    transfers.some(
      ({ token, from, to, amount }) =>
        token === other.token && from === other.from && to === other.to && amount === other.amount,
    );
  return logs.flatMap(({ address: token, topics, data }) => {
    const listed = decodeTransfer(token, topics, data);
    if (listed.length > 0 || token !== wrappedNative) return listed;
    // Some wrapped tokens emit a transfer as well.
    return decodeWrapping(token, topics, data).filter((each) => !isListed(each));
  });
}

function decodeTransfer(token: Address, topics: readonly Hex[], data: Hex): TokenTransfer[] {
  const [event, from, to, ...more] = topics;
  if (event !== TRANSFER || from === undefined || to === undefined || more.length > 0) return [];
  return data.length === DATA_SIZE ? [{ token, from: toAddress(from), to: toAddress(to), amount: BigInt(data) }] : [];
}

function decodeWrapping(token: Address, [event, holder, ...more]: readonly Hex[], data: Hex): TokenTransfer[] {
  if (holder === undefined || more.length > 0 || data.length !== DATA_SIZE) return [];
  const [account, amount] = [toAddress(holder), BigInt(data)];
  if (event === DEPOSIT) return [{ token, from: ZERO_ADDRESS, to: account, amount }];
  return event === WITHDRAWAL ? [{ token, from: account, to: ZERO_ADDRESS, amount }] : [];
}

const toAddress = (topic: Hex): Address => `0x${topic.slice(26)}`;
