import type { FactPlan, SimulatedBlock, SimulatedChain } from '../chain/chain.ts';
import type { Competitions } from '../chain/competitions.ts';
import { SOLVED_AMOUNT } from '../chain/competitions.ts';
import type { Clients } from '../clients/clients.ts';
import type { Subscriber } from '../clients/subscribers.ts';
import type { Machine } from '../machine/machine.ts';
import type { Scheduler } from '../machine/scheduler.ts';
import type { Pool } from '../orders/pool.ts';
import type { Balances } from '../ports/funds-port.ts';
import type { Action, Operation } from './plan.ts';

export interface PerformerContext {
  readonly pool: Pool;
  readonly machine: Machine;
  readonly chain: SimulatedChain;
  readonly balances: Balances;
  readonly clients: Clients;
  readonly competitions: Competitions;
  /** Whether the trades of a transaction are a settlement. */
  readonly hasSettlements: boolean;
  readonly subscribers: readonly Pick<Subscriber, 'disconnect'>[];
  readonly scheduler: Scheduler;
  readonly trace: (line: string) => void;
  /** Whether the simulation has ended. */
  readonly isOver: () => boolean;
}

/** Milliseconds that clients wait while no process runs. */
const CLIENT_DELAY = 100;

/** Milliseconds after a block until auctions are read whose solutions must be settled before it. */
const DEADLINE_READS = [1_200, 2_600] as const;

/** Number of the newest blocks whose settlements lead to reads. */
const RECENT_BLOCKS = 6;

/** Milliseconds after the begin of a fork until the orders are read that it places again. */
const PLACEMENT_READS = [0, 3_000, 5_000] as const;

/** Creates a function that performs one action of a plan, with the reads that a change of the chain suggests. */
export function createPerformer(context: PerformerContext): (action: Action) => Promise<void> {
  const { pool, machine, chain, balances, clients, competitions, subscribers } = context;
  const { hasSettlements, scheduler, trace, isOver } = context;

  /** Runs an operation after a time, if a process runs then. */
  function readLater(operation: Operation, delay: number): void {
    scheduler.after(delay, () => {
      const found = machine.running[0];
      if (found !== undefined) void clients.run(operation, found);
    });
  }

  /** Reads the orders that the newest blocks have placed: now, and after a fork has placed them again. */
  function readPlacements(depth: number): void {
    let block: SimulatedBlock | undefined = chain.head;
    for (let i = 0; i < depth && block !== undefined; i++) {
      for (const { type, order } of block.facts) {
        if (type !== 'placement') continue;
        for (const delay of PLACEMENT_READS) readLater({ kind: 'http', order }, delay);
      }
      block = block.parent;
    }
  }

  /** Mines a block, in which a solver may settle an order in flight. */
  function mine(facts: readonly FactPlan[]): void {
    const settled = hasSettlements ? competitions.drawSettled(chain.head.number) : undefined;
    chain.mine(settled === undefined ? facts : [...facts, { type: 'trade', order: settled, amount: SOLVED_AMOUNT }]);
    if (competitions.hasDeadline(chain.head.number))
      for (const delay of DEADLINE_READS) readLater({ kind: 'auction' }, delay);
    readSettled();
  }

  /** Reads the auction and the competition after settlements that name an auction. */
  function readSettled(): void {
    let block: SimulatedBlock | undefined = chain.head;
    let isNamed = false;
    for (let i = 0; i < RECENT_BLOCKS && block !== undefined; i++) {
      isNamed ||= block.facts.some(competitions.isNamed);
      block = block.parent;
    }
    if (!isNamed) return;
    for (const delay of DEADLINE_READS) {
      readLater({ kind: 'auction' }, delay);
      readLater({ kind: 'competition' }, delay);
    }
  }

  return async (action) => {
    switch (action.type) {
      case 'operation': {
        while (!machine.isRunning && !isOver()) await scheduler.run(CLIENT_DELAY, isOver);
        const found = machine.find(action.process) ?? machine.running[0];
        if (found !== undefined) void clients.run(action.operation, found);
        break;
      }
      case 'fault':
        trace(`fault ${JSON.stringify(action.fault)}`);
        if (action.fault.kind === 'disconnect') subscribers[action.fault.subscriber]?.disconnect();
        else await machine.apply(action.fault);
        break;
      case 'mine':
        mine(action.facts);
        trace(`mine ${chain.head.hash} ${chain.head.logs.length}`);
        break;
      case 'fork':
        readPlacements(action.depth);
        chain.fork(action.depth, action.keep);
        readSettled();
        trace(`fork ${chain.head.hash}`);
        break;
      case 'fund':
        balances.set(pool.owners[action.owner] ?? '', BigInt(action.amount));
        trace(`fund ${action.owner} ${action.amount}`);
        break;
      case 'heal':
        trace('heal');
        machine.heal();
        break;
      case 'wait':
        break;
    }
  };
}
