import type { BlockHeader, ChainSource, Hex, LogQuery } from 'intentbook';
import { ChainMismatch } from 'intentbook';
import type { ChainLog } from 'intentbook/chain-events';
import type { Happening } from './chain-events.ts';
import { eventsIn, hashOf } from './chain-events.ts';
import { encodeLog } from './chain-logs.ts';
import { SEPOLIA_DOMAIN } from './orders.ts';

/** A block with its chain events. */
export interface ScriptedBlock extends BlockHeader {
  readonly happenings: readonly Happening[];
  readonly logs: readonly ChainLog[];
}

/** A chain with scripted forks. */
export interface ScriptedChain {
  readonly blocks: readonly ScriptedBlock[];
  readonly head: ScriptedBlock;
  /** Adds blocks with the given chain events. */
  mine(...blocks: readonly (readonly Happening[])[]): void;
  /** Rolls blocks back and continues with others. */
  reorganise(depth: number, ...blocks: readonly (readonly Happening[])[]): void;
  /** Returns a node of this chain. `mood` can fail or change a response. */
  node(name: string, behaviour?: Behaviour): ChainSource;
}

/** A hook for responses: it can change one, or throw instead. */
export type Behaviour = <T>(question: keyof ChainSource, answer: T) => T | Promise<T>;

/** @param fork Distinguishes the block hashes from those of another chain. */
export function scriptedChain(fork = 'a', first = 100): ScriptedChain {
  let blocks: ScriptedBlock[] = [];
  let minted = 0;

  function add(happenings: readonly Happening[]): void {
    const before = blocks.at(-1);
    const number = before === undefined ? first : before.number + 1;
    const hash = hashOf(`${fork} ${++minted}`);
    const header = {
      number,
      hash,
      parentHash: before?.hash ?? hashOf('nothing'),
      timestamp: 1_700_000_000 + number * 12,
    };
    const logs = eventsIn(header, happenings).map(({ event, timestamp, ...args }): ChainLog => {
      const { blockNumber, blockHash, logIndex, transactionHash } = args;
      const address = 'address' in args ? args.address : SEPOLIA_DOMAIN.settlementContract;
      return { blockNumber, blockHash, logIndex, transactionHash, address, ...encodeLog(event, args) };
    });
    blocks.push({ ...header, happenings, logs });
  }
  add([]);

  const head = (): ScriptedBlock => blocks.at(-1) as ScriptedBlock; // the first block is never rolled back
  const logsOf = ({ addresses, topics, of }: LogQuery) =>
    blocks
      .filter((block) =>
        'blockHash' in of ? block.hash === of.blockHash : block.number >= of.from && block.number <= of.to,
      )
      .flatMap(({ logs }) => logs)
      // Each block has one.
      .filter(({ address, topics: [topic] }) => addresses.includes(address) && topics.includes(topic as Hex));

  return {
    get blocks() {
      return blocks;
    },
    get head() {
      return head();
    },
    mine: (...more) => more.forEach(add),
    reorganise(depth, ...more) {
      blocks = blocks.slice(0, Math.max(1, blocks.length - depth));
      more.forEach(add);
    },
    node(name, behaviour = (_, answer) => answer) {
      return {
        name,
        id: name,
        async verify(domain) {
          if (domain.chainId !== SEPOLIA_DOMAIN.chainId) throw new ChainMismatch(`${name} serves another chain`);
          await behaviour('verify', undefined);
        },
        head: async () => behaviour('head', head()),
        block: async (number) =>
          behaviour(
            'block',
            blocks.find((block) => block.number === number),
          ),
        logs: async (query) => behaviour('logs', logsOf(query)),
        settleCalls: async () => behaviour('settleCalls', new Map()),
      };
    },
  };
}
