import type { ChainSource } from 'intentbook';
import type { SimulatedBlock, SimulatedChain } from '../chain/chain.ts';
import type { VirtualProcess } from '../machine/process.ts';
import type { SeededRandom } from '../machine/random.ts';
import type { Scheduler } from '../machine/scheduler.ts';
import type { NodeFault } from '../plan/plan.ts';

/** The connection of a virtual process to a node of the chain. */
export interface NodePort {
  readonly source: ChainSource;
  readonly faults: Set<NodeFault>;
  /** Sets the head that the node returns while it lags. Called before the fault begins. */
  keepHead(): void;
}

export interface NodePortContext {
  readonly name: string;
  readonly chain: SimulatedChain;
  readonly process: VirtualProcess;
  readonly scheduler: Scheduler;
  readonly random: SeededRandom;
  /** Called when the logs of a block are hidden. */
  readonly onHidden: (hash: string) => void;
  readonly onFault: (name: string) => void;
}

/** The newest blocks, whose logs a node may not have yet. */
const HIDDEN_BLOCKS = 3;

/** Creates a node that delays and fails requests, lags behind, or has blocks before it has their logs. */
export function createNodePort(context: NodePortContext): NodePort {
  const { name, chain, process, scheduler, random } = context;
  const faults = new Set<NodeFault>();
  let view = chain.head;

  const drawDelay = () => (faults.has('slow') ? random.integer(50, 1_500) : random.integer(0, 20));

  function request<T>(method: string, read: () => T): Promise<T> {
    return new Promise((resolve, reject) => {
      if (faults.has('hang') && random.chance(0.3)) return context.onFault(`node hang ${method}`);
      scheduler.after(drawDelay(), () => {
        if (!faults.has('lag')) view = chain.head;
        const fails = faults.has('fail') && random.chance(0.5);
        if (fails) context.onFault(`node fail ${method}`);
        const value = fails ? undefined : read();
        scheduler.after(drawDelay(), () =>
          process.enter(() => (fails ? reject(new Error('the simulated node failed')) : resolve(value as T))),
        ); // the value was read unless the request fails
      });
    });
  }

  function findByNumber(number: number): SimulatedBlock | undefined {
    let block: SimulatedBlock | undefined = view;
    while (block !== undefined && block.number > number) block = block.parent;
    return block?.number === number ? block : undefined;
  }

  function readLogs(hash: string): SimulatedBlock['logs'] {
    const block = chain.find(hash as `0x${string}`);
    if (block === undefined || block.logs.length === 0) return [];
    // A node has the logs of a block soon. Until then the block is one of the newest.
    const isNew = block.number > chain.head.number - HIDDEN_BLOCKS;
    if (!faults.has('hide') || !isNew || !random.chance(0.5)) return block.logs;
    context.onFault('node hide');
    context.onHidden(hash);
    return [];
  }

  return {
    faults,
    keepHead() {
      if (!faults.has('lag')) view = chain.head;
    },
    source: {
      name,
      id: name,
      verify: () => request('verify', () => undefined),
      head: () => request('head', () => view),
      block: (number) => request('block', () => findByNumber(number)),
      logs: ({ of }) =>
        request('logs', () => {
          if ('blockHash' in of) return readLogs(of.blockHash);
          const logs: SimulatedBlock['logs'][number][] = [];
          for (let number = of.from; number <= of.to; number++) {
            const block = findByNumber(number);
            if (block !== undefined) logs.push(...readLogs(block.hash));
          }
          return logs;
        }),
      settleCalls: (_, transactions) => request('settleCalls', () => chain.findSettleCalls(transactions)),
    },
  };
}
