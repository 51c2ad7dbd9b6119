import type { Address, AuctionOrder, BlockHeader, ChainSource, Hex } from 'intentbook';
import type { ChainLog } from 'intentbook/chain-events';
import type { SeededRandom } from '../machine/random.ts';

/** An order that a settlement executes, in atoms. */
export interface ExecutedFill {
  readonly order: AuctionOrder;
  readonly sold: bigint;
  readonly bought: bigint;
}

/** A settlement that a driver has sent. */
export interface SentSettlement {
  readonly hash: Hex;
  /** The book and the solution that it was sent for. */
  readonly book: string;
  readonly auctionId: number;
  readonly solutionId: number;
  readonly solver: Address;
  readonly fills: readonly ExecutedFill[];
  readonly data: Hex;
  /** The first block that may include it. */
  readonly from: number;
  /** Whether the first such block includes it. */
  readonly isPrompt: boolean;
  readonly onMined: (reverted: boolean) => void;
}

interface Block extends BlockHeader {
  readonly parent: Block | undefined;
  readonly settlements: readonly SentSettlement[];
}

/** How a node returns logs: as they are, or in a way that contradicts another node. */
export const NODE_MODES = [
  'same',
  'offset',
  'reversed',
  'repeated',
  'doubled',
  'shifted',
  'partial',
  'late',
  'collided',
  'failing',
  'stale',
  'future',
  'inflated',
] as const;
/** `stopped`: the node stands still at a frozen head. */
export type NodeMode = (typeof NODE_MODES)[number] | 'stopped';

/** How a node behaves. */
export interface NodeBehaviour {
  /** Returns how it returns logs now. */
  readonly getMode: () => NodeMode;
  /** Number of the newest blocks whose logs it returns for a range. It has deleted older ones. */
  readonly keptBlocks: number;
  /** A solver whose transactions call another contract, so that no node has the calldata of its settlements. */
  readonly indirectSolver: Address | undefined;
  /** Called with each block of a range whose logs it returns. */
  readonly onRead: (block: number) => void;
}

/** A settlement contract, on which the settlements of all books are executed, with forks. */
export interface Contract {
  readonly head: BlockHeader;
  send(settlement: SentSettlement): void;
  /** Includes the settlements that may be included, each with a probability. */
  mine(probability: number): void;
  /** Replaces the newest blocks. Their settlements may be included again. */
  fork(depth: number): void;
  /** Sets the head of nodes that stand still. */
  freeze(): void;
  /** Returns the settlements up to a block, with the number of their block. */
  listSettled(to?: number): readonly { readonly number: number; readonly settlement: SentSettlement }[];
  createNode(name: string, behaviour: NodeBehaviour): ChainSource;
}

/** Blocks and seconds by which a node claims that the head is ahead. */
const CLAIMS: Readonly<Partial<Record<NodeMode, readonly [number, number]>>> = {
  future: [1_000_000, 12_000_000],
  inflated: [1_000_000, 0],
};

const TRADE: Hex = '0xa07a543ab8a018198e99ca0184c93fe9050a79400a0a723441f84de1d972cc17';
const SETTLEMENT: Hex = '0x40338ce1a7c49204f0099533b1e9a7ee0a3d261f84974ab7af36105b8c4e9db4';
const word = (value: bigint | number) => value.toString(16).padStart(64, '0');
const toWord = (address: string) => address.slice(2).padStart(64, '0');

/** Blocks of which a node may not have all logs yet. */
const NEW_BLOCKS = 3;

/** Creates the contract with one block. */
export function createContract(random: SeededRandom, settlementContract: Address, now: () => number): Contract {
  let count = 0;
  let pending: SentSettlement[] = [];
  let head = append(undefined, []);
  /** The head before the last fork. */
  let abandoned: Block | undefined;
  let frozen = head;

  function append(parent: Block | undefined, settlements: readonly SentSettlement[]): Block {
    const number = (parent?.number ?? 99) + 1;
    const toHash = (n: number): Hex => `0x${word(0xb10c0000 + n)}`;
    const timestamp = Math.max(now(), (parent?.timestamp ?? 0) + 1);
    return { number, hash: toHash(++count), parentHash: parent?.hash ?? toHash(0), timestamp, parent, settlements };
  }

  function list(block: Block): { readonly number: number; readonly settlement: SentSettlement }[] {
    const found: { readonly number: number; readonly settlement: SentSettlement }[] = [];
    for (let each: Block | undefined = block; each !== undefined; each = each.parent) {
      const { number, settlements } = each;
      found.unshift(...settlements.map((settlement) => ({ number, settlement })));
    }
    return found;
  }

  /** Returns whether the contract executes a settlement after others: no order is filled beyond its amount. */
  function isExecutable({ fills }: SentSettlement, before: readonly SentSettlement[]): boolean {
    return fills.every(({ order, sold }) => {
      const same = before.flatMap((each) => each.fills).filter((fill) => fill.order.uid === order.uid);
      return same.reduce((sum, fill) => sum + fill.sold, sold) <= BigInt(order.sellAmount);
    });
  }

  function mine(probability: number): void {
    const number = head.number + 1;
    const included: SentSettlement[] = [];
    const before = list(head).map(({ settlement }) => settlement);
    const left: SentSettlement[] = [];
    for (const each of pending) {
      if (number < each.from || (!each.isPrompt && !random.chance(probability))) {
        left.push(each);
        continue;
      }
      const isGood = isExecutable(each, [...before, ...included]);
      if (isGood) included.push(each);
      each.onMined(!isGood);
    }
    pending = left;
    head = append(head, included);
  }

  function toLogs({ number: blockNumber, hash: blockHash, timestamp, settlements }: Block, mode: NodeMode): ChainLog[] {
    let next = mode === 'offset' ? 40 : 0;
    const logs = settlements.flatMap(({ hash: transactionHash, fills, solver }) => {
      const base = { blockNumber, blockHash, timestamp, transactionHash, address: settlementContract };
      if (mode === 'collided') next = 0;
      const trades = fills.map(({ order: { owner, uid, sellToken, buyToken }, sold, bought }): ChainLog => {
        const uidBytes = `${word(56)}${uid.slice(2)}${'0'.repeat(16)}`;
        const heads = [toWord(sellToken), toWord(buyToken), word(sold), word(bought), word(0), word(6 * 32)];
        const data: Hex = `0x${heads.join('')}${uidBytes}`;
        return { ...base, logIndex: next++, topics: [TRADE, `0x${toWord(owner)}`], data };
      });
      return [
        ...trades,
        { ...base, logIndex: next++, topics: [SETTLEMENT, `0x${toWord(solver)}` as Hex], data: '0x' as Hex },
      ];
    });
    if (mode === 'reversed') return logs.reverse();
    if (mode === 'partial') return logs.slice(1).map((log, logIndex) => ({ ...log, logIndex }));
    if (mode === 'doubled') return logs.flatMap((log, i) => [log, { ...log, logIndex: 100 + i }]);
    if (mode === 'shifted')
      return logs.flatMap((log) => [log, { ...log }]).map((log, logIndex) => ({ ...log, logIndex }));
    return mode === 'repeated' ? logs.flatMap((log) => [log, { ...log }]) : logs;
  }

  return {
    get head() {
      return head;
    },
    send: (settlement) => void pending.push(settlement),
    mine,
    fork(depth) {
      abandoned = head;
      const dropped: SentSettlement[] = [];
      for (let i = 0; i < depth && head.parent !== undefined; i++) {
        dropped.unshift(...head.settlements);
        head = head.parent;
      }
      // They may be included in a lower block than before.
      pending = [...dropped.map((each) => ({ ...each, from: 0 })), ...pending];
      for (let i = 0; i < depth; i++) mine(0.8);
      mine(1);
    },
    freeze() {
      frozen = head;
    },
    listSettled: (to = head.number) => list(head).filter(({ number }) => number <= to),
    createNode(name, { getMode, keptBlocks, indirectSolver, onRead }) {
      const view = () => {
        const mode = getMode();
        return mode === 'stopped' ? frozen : mode === 'stale' && abandoned !== undefined ? abandoned : head;
      };
      const find = (matches: (block: Block) => boolean, from: Block = view()): Block | undefined => {
        for (let block: Block | undefined = from; block !== undefined; block = block.parent)
          if (matches(block)) return block;
        return undefined;
      };
      const check = () => {
        if (getMode() === 'failing' && random.chance(0.5)) throw new Error('the simulated node failed');
      };
      const read = (block: Block | undefined): ChainLog[] => {
        if (block === undefined) return [];
        const mode = getMode();
        const logs = toLogs(block, mode);
        const isNew = block.number > head.number - NEW_BLOCKS;
        return mode === 'late' && isNew && random.chance(0.5) ? [] : logs;
      };
      return {
        name,
        id: name,
        verify: async () => {},
        async head() {
          check();
          const { number, timestamp, ...block } = view();
          const [blocks, seconds] = CLAIMS[getMode()] ?? [0, 0];
          return { ...block, number: number + blocks, timestamp: timestamp + seconds };
        },
        async block(number) {
          check();
          return find((block) => block.number === number);
        },
        async logs({ of }) {
          check();
          if ('blockHash' in of) return read(find(({ hash }) => hash === of.blockHash));
          if (of.from <= head.number - keptBlocks) throw new Error('the simulated node has deleted these logs');
          const logs: ChainLog[] = [];
          for (let number = of.from; number <= Math.min(of.to, head.number); number++) {
            onRead(number);
            logs.push(...read(find((block) => block.number === number)));
          }
          return logs;
        },
        async settleCalls(_, transactions) {
          const all = [...list(view()), ...list(head)];
          return new Map(
            transactions.flatMap((hash): [Hex, readonly Hex[]][] => {
              const found = all.find(({ settlement }) => settlement.hash === hash);
              return found === undefined || found.settlement.solver === indirectSolver
                ? []
                : [[hash, [found.settlement.data]]];
            }),
          );
        },
      };
    },
  };
}
