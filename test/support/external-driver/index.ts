import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { Address, Hex, PublicClient } from 'viem';
import type { Contracts } from './execution.ts';
import { execute, getFee, readFillable } from './execution.ts';
import type { WireAuction, WireOrder } from './interface.ts';
import { readReserves } from './pools.ts';
import type { Execution } from './settlement.ts';
import { encodeSettlement } from './settlement.ts';

/** The chain and the account of the driver. */
export interface ExternalDriverOptions extends Contracts {
  readonly client: PublicClient;
  readonly factory: Address;
  /** The account that settles. The node signs for it. */
  readonly solver: Address;
  /** Runs a transaction alone, as a builder of blocks does. */
  readonly inOrder: <T>(work: () => Promise<T>) => Promise<T>;
}

/** A running driver. */
export interface ExternalDriver {
  readonly url: string;
  /** Transactions that were not sent, because their simulation failed. */
  readonly dropped: () => number;
  close(): Promise<void>;
}

/** Number of auctions whose solutions are kept. */
const KEEP = 50;

/**
 * Starts a driver that was written against docs/extending/driver.md alone. It trades each order on its best route and
 * offers two solutions: all orders in one settlement, and the order that was placed first.
 */
export async function startExternalDriver(options: ExternalDriverOptions): Promise<ExternalDriver> {
  const { client, factory, solver, settlement, wrappedNative, inOrder } = options;
  const solved = new Map<string, readonly (readonly Execution[])[]>();
  let dropped = 0;

  async function isValid(executions: readonly Execution[]): Promise<boolean> {
    return client.call({ account: solver, to: settlement, data: encodeSettlement(executions) }).then(
      () => true,
      () => false,
    );
  }

  async function fill(orders: readonly WireOrder[], reserves: ReturnType<typeof readReserves>): Promise<Execution[]> {
    const executions: Execution[] = [];
    for (const order of orders) {
      const isPlain = order.sellTokenBalance === 'erc20' && order.buyTokenBalance === 'erc20';
      if (!isPlain || getFee(order) === undefined || order.sellToken === order.buyToken) continue;
      const execution = await execute(order, await readFillable(client, order, options), reserves, options);
      if (execution !== undefined) executions.push(execution);
    }
    return executions;
  }

  async function solve({ id, orders }: WireAuction): Promise<object> {
    const reserves = readReserves(client, factory, wrappedNative);
    const all = await fill(orders, reserves.fork());
    const [first] = all;
    const single = first === undefined ? [] : await fill([first.order], reserves.fork());
    const candidates = [all, all.length > 1 ? single : []].filter((each) => each.length > 0);
    const valid = await Promise.all(candidates.map(isValid));
    const solutions = candidates.filter((_, i) => valid[i]);
    solved.set(id, solutions);
    const [oldest] = solved.keys();
    if (solved.size > KEEP && oldest !== undefined) solved.delete(oldest);
    return { solutions: solutions.map((executions, i) => describe(executions, i, solver)) };
  }

  function findSolution({ solutionId, auctionId }: Request): readonly Execution[] {
    const found = solved.get(auctionId)?.[solutionId];
    if (found === undefined) throw new Error('SolutionNotAvailable');
    return found;
  }

  async function settle(request: Request): Promise<object> {
    const executions = findSolution(request);
    return inOrder(async () => {
      if (!(await isValid(executions))) {
        dropped++;
        throw new Error('FailedToSubmit');
      }
      const data = encodeSettlement(executions, request.auctionId);
      const transaction = { from: solver, to: settlement, data, gas: '0xb71b00' } as const;
      const hash = await client.request({ method: 'eth_sendTransaction' as never, params: [transaction] as never });
      if (!(await succeeds(hash as Hex))) throw new Error('FailedToSubmit'); // a hash, as the method returns
      return { transactionHash: hash };
    });
  }

  /** Waits for a receipt. The function of viem waits for a further block, which a quiet chain does not make. */
  async function succeeds(hash: Hex): Promise<boolean> {
    for (;;) {
      const receipt = await client.request({ method: 'eth_getTransactionReceipt', params: [hash] });
      if (receipt !== null) return receipt.status === '0x1';
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }

  async function respond(path: string, body: unknown): Promise<object> {
    if (path === '/solve') return solve(body as WireAuction); // the documented body
    const request = body as Request; // the documented body
    if (path === '/settle') return settle(request);
    const calldata = encodeSettlement(findSolution(request), request.auctionId);
    return { calldata: { internalized: calldata, uninternalized: calldata } };
  }

  const server = createServer(async (request, response) => {
    let [status, result]: [number, object] = [200, {}];
    try {
      result = await respond(request.url ?? '', JSON.parse(await text(request)));
    } catch (error) {
      [status, result] = [400, { kind: 'Failed', description: error instanceof Error ? error.message : '' }];
    }
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(result));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, // of a TCP server
    dropped: () => dropped,
    close() {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

/** The body of `POST /reveal` and of `POST /settle`. */
interface Request {
  readonly solutionId: number;
  readonly auctionId: string;
}

function describe(executions: readonly Execution[], solutionId: number, submissionAddress: Address): object {
  const orders = executions.map(({ order, sold, bought }) => [
    order.uid,
    {
      side: order.kind,
      sellToken: order.sellToken,
      limitSell: order.sellAmount,
      buyToken: order.buyToken,
      limitBuy: order.buyAmount,
      executedSell: String(sold),
      executedBuy: String(bought),
    },
  ]);
  return { solutionId, submissionAddress, orders: Object.fromEntries(orders) };
}
