import { randomBytes } from 'node:crypto';
import type { IndexerOptions, OrderBook, OrderBookOptions, OrderCreation } from 'intentbook';
import { createOrderBook } from 'intentbook';
import { memoryStore } from 'intentbook/memory';
import { viemChain, viemSource } from 'intentbook/viem';
import type { Hex, LocalAccount } from 'viem';
import { parseAbi } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { sepolia } from 'viem/chains';
import { waitForReceipt } from '../../support/anvil.ts';
import type { Evm } from '../../support/evm.ts';
import { deployProtocol, deployToken, RELAYER, SETTLEMENT, SOLVER, startEvm } from '../../support/evm.ts';
import type { OrderChoice } from '../../support/orders.ts';
import { signOrder } from '../../support/orders.ts';

export const ERC20 = parseAbi([
  'function mint(address,uint256)',
  'function approve(address,uint256) returns (bool)',
  'function balanceOf(address) view returns (uint256)',
]);

/** A chain with the protocol and two tokens. The settlement contract holds a large amount of both. */
export interface Fixture extends Evm {
  readonly sellToken: Hex;
  readonly buyToken: Hex;
}

export async function startFixture(...flags: string[]): Promise<Fixture> {
  const evm = await startEvm(...flags);
  const { client } = evm;
  await deployProtocol(client);
  const [sellToken, buyToken] = [await deployToken(client, 'SELL'), await deployToken(client, 'BUY')];
  for (const token of [sellToken, buyToken]) await mint(evm, token, SETTLEMENT, 10n ** 30n);
  return { ...evm, sellToken, buyToken };
}

export async function mint({ client }: Evm, token: Hex, to: Hex, amount: bigint): Promise<void> {
  const hash = await client.writeContract({
    address: token,
    abi: ERC20,
    functionName: 'mint',
    args: [to, amount],
    account: SOLVER,
    chain: sepolia,
  });
  await waitForReceipt(client, hash);
}

/** A trader who has approved the protocol for the sell tokens. */
export async function fundedTrader(fixture: Fixture, amount = 10n ** 24n): Promise<LocalAccount> {
  const trader = privateKeyToAccount(`0x${randomBytes(32).toString('hex')}`);
  await fund(fixture, trader.address, amount);
  return trader;
}

/** Mints sell tokens for an account and approves the protocol. */
export async function fund(fixture: Fixture, account: Hex, amount = 10n ** 24n): Promise<void> {
  const { client, sellToken } = fixture;
  await mint(fixture, sellToken, account, amount);
  await client.impersonateAccount({ address: account });
  await client.setBalance({ address: account, value: 10n ** 18n });
  const hash = await client.writeContract({
    address: sellToken,
    abi: ERC20,
    functionName: 'approve',
    args: [RELAYER, 2n ** 256n - 1n],
    account,
    chain: sepolia,
  });
  await waitForReceipt(client, hash);
}

/** A book that queries and indexes the chain of the fixture. */
export interface FixtureBook extends AsyncDisposable {
  readonly book: OrderBook;
  readonly failures: unknown[];
  /** Waits until the book has indexed the chain to its head. */
  caughtUp(): Promise<void>;
}

/** Order fields that a test can choose. */
export interface BookChoice extends Partial<Omit<OrderBookOptions, 'follow'>> {
  readonly follow?: Partial<IndexerOptions>;
}

export async function startBook(
  fixture: Fixture,
  { store = memoryStore(), follow = {}, ...options }: BookChoice = {},
): Promise<FixtureBook> {
  const { client } = fixture;
  const book = createOrderBook({
    chainId: sepolia.id,
    store,
    chain: viemChain(client),
    ...options,
    indexer: { sources: [viemSource(client)], fromBlock: 1, pollInterval: 10, ...follow },
  });
  const failures: unknown[] = [];
  book.on('failure', (failure) => failures.push(failure));
  book.on('chainProgress', (observation) => {
    if (observation.type === 'failure') failures.push(observation.failure);
  });
  await book.start();
  return {
    book,
    failures,
    async caughtUp() {
      for (;;) {
        const head = await client.getBlock();
        const { indexedBlock } = await book.chain.progress();
        if (indexedBlock?.hash === head.hash) return;
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    },
    [Symbol.asyncDispose]: () => book.close(),
  };
}

/** Signs and submits an order for the tokens of the fixture, valid for one hour. */
export async function submit(
  { book }: FixtureBook,
  fixture: Fixture,
  trader: LocalAccount,
  choice: OrderChoice & Partial<OrderCreation> = {},
  scheme: 'eip712' | 'ethsign' = 'eip712',
): Promise<Hex> {
  const { sellToken, buyToken } = fixture;
  const validTo = Math.floor(Date.now() / 1000) + 3600;
  const signed = await signOrder(
    trader,
    { sellToken, buyToken, sellAmount: '1000', buyAmount: '400', validTo, ...(choice as OrderChoice) },
    { scheme },
  );
  const result = await book.orders.submit({ ...signed, ...(choice as object) } as OrderCreation);
  if (result.status !== 'accepted') throw result.error;
  return result.uid;
}
