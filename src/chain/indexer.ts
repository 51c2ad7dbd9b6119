import type { DeadlineLimiter } from '../concurrency/deadline.ts';
import type { ChainCall } from '../ports/chain-client.ts';
import type { BlockHeader, ChainSource } from '../ports/chain-source.ts';
import { ChainMismatch } from '../ports/chain-source.ts';
import type { ApplyOutcome, BlockRef, ChainProgress, RollbackOutcome } from '../ports/chain-store.ts';
import type { Clock } from '../ports/clock.ts';
import type { LeaseStore } from '../ports/store.ts';
import { StoreError } from '../ports/store.ts';
import type { Domain } from '../protocol/eip712.ts';
import type { ChainLog } from '../protocol/event-decoder.ts';
import { createRange } from './block-range.ts';
import type { ChainBatch } from './decode-batch.ts';
import type { IndexerObservation, IndexerState, ParsedIndexerOptions } from './indexer-options.ts';
import { ReorganisationTooDeep } from './indexer-options.ts';
import { createLogReader, Inconsistent } from './log-reader.ts';

/** What following takes of the book. */
export interface ChainIndexerContext {
  readonly domain: Domain;
  readonly clock: Clock;
  readonly remote: DeadlineLimiter;
  readonly leases: LeaseStore;
  readonly progress: () => Promise<ChainProgress>;
  readonly apply: (batch: ChainBatch) => Promise<ApplyOutcome>;
  readonly rollback: (to: number, after: BlockRef) => Promise<RollbackOutcome>;
  readonly observe: (observation: IndexerObservation) => void;
  readonly onFailure: (failure: unknown) => void;
}

export interface ChainIndexer {
  readonly state: IndexerState;
  start(): void;
  /** Finishes what it is at and lets go of the lease. */
  stop(): Promise<void>;
}

const LEASE = 'follow the chain';
const LEASE_TTL = 15_000;

const FIRST_RETRY = 500;
const LONGEST_RETRY = 30_000;

/** A node that has had nothing new for so long may have fallen behind: the others are looked at. */
const STALE = 60_000;

/** Blocks are read a second time, so many at once, since nodes may have a block before they have its logs; the newest are left some time. */
const SECOND_LOOK = 8;
const REST = 4;

/**
 * Follows the chain: from where the store says that it stands, in ranges while that is long ago, block by block near the
 * head, where blocks are taken back. Every step asks one node only, is applied upon the indexedBlock it has read, and so can fail
 * or be repeated anywhere.
 */
export function createChainIndexer(options: ParsedIndexerOptions, context: ChainIndexerContext): ChainIndexer {
  const { sources, pollInterval, reorgLimit, maxBlockRange, fromBlock, holder } = options;
  const { clock, remote, leases, domain, observe, onFailure } = context;
  const verified = new Set<ChainSource>();
  const range = createRange(maxBlockRange);
  let usable = sources;
  let state: IndexerState = 'starting';
  let turn = 0;
  let failures = 0;
  let firstBlock = fromBlock;
  /** Up to which block a second look was taken. */
  let seenTwice: number | undefined;
  let movedAt = clock.now();
  let running: Promise<void> | undefined;
  let stopping: AbortController | undefined;

  const ask = <T>(question: (call: ChainCall) => Promise<T>): Promise<T> =>
    remote.run(domain.settlementContract, (signal) => question({ signal }), stopping?.signal);

  const reader = createLogReader(options.onchainOrderContracts, {
    domain,
    run: ask,
    observe,
    isStopping: () => stopping?.signal.aborted === true,
  });

  async function holdsLease(): Promise<boolean> {
    const outcome = await leases.acquire({ name: LEASE, holder, ttl: LEASE_TTL });
    return outcome.status === 'held';
  }

  /** Does the next piece of work. @returns whether there is more to do at once. */
  async function step(node: ChainSource): Promise<boolean> {
    if (!(await holdsLease())) {
      state = 'standing by';
      return false;
    }
    if (!verified.has(node)) {
      await ask((call) => node.verify(domain, call));
      verified.add(node);
    }
    const { indexedBlock, blocks } = await context.progress();
    const head = await ask((call) => node.head(call));
    if (indexedBlock === null) return begin(node, head);
    if (head.number < indexedBlock.number) return stale(); // it lags behind, or is on a fork that is going to lose
    const here = await ask((call) => node.block(indexedBlock.number, call));
    if (here === undefined) throw new Inconsistent(`it has block ${head.number}, but not block ${indexedBlock.number}`);
    if (here.hash !== indexedBlock.hash) return goBack(node, indexedBlock, blocks);

    const settled = head.number - reorgLimit;
    if (indexedBlock.number < settled) {
      state = 'catching up';
      await catchUp(node, indexedBlock, settled, head);
      return true;
    }
    state = 'following';
    const end = await advance(node, indexedBlock, head);
    await lookAgain(end, blocks.at(-1) ?? indexedBlock);
    if (end.number === indexedBlock.number) return stale();
    movedAt = clock.now();
    return end.number < head.number;
  }

  /** A node that has had nothing new for long makes room for the next. @returns false: there is nothing to do at once. */
  function stale(): false {
    if (usable.length > 1 && Math.abs(clock.now() - movedAt) > STALE) {
      turn++;
      movedAt = clock.now();
    }
    return false;
  }

  async function begin(node: ChainSource, head: BlockHeader): Promise<boolean> {
    const first = firstBlock ?? head.number + 1;
    if (first > head.number + 1) return false;
    const before = first === head.number + 1 ? head : await ask((call) => node.block(first - 1, call));
    if (before === undefined) throw new Inconsistent(`it has block ${head.number}, but not block ${first - 1}`);
    await apply({ events: [], through: toBlockRef(before), after: null }, head);
    return true;
  }

  /** Finds the newest block that the node still has, and takes back what came after it. */
  async function goBack(node: ChainSource, indexedBlock: BlockRef, blocks: readonly BlockRef[]): Promise<boolean> {
    for (const known of blocks) {
      if (known.number >= indexedBlock.number) continue;
      if (indexedBlock.number - known.number > reorgLimit) throw tooDeep(indexedBlock);
      const now = await ask((call) => node.block(known.number, call));
      if (now?.hash === known.hash) return takeBack(known.number, indexedBlock);
    }
    // Even the block that everything began upon is gone. Hashes are remembered for longer than the limit, so it is near.
    const oldest = blocks.at(-1) ?? indexedBlock;
    if (indexedBlock.number - oldest.number > reorgLimit) throw tooDeep(indexedBlock);
    firstBlock = oldest.number + 1;
    return takeBack(oldest.number - 1, indexedBlock);
  }

  async function takeBack(to: number, indexedBlock: BlockRef): Promise<boolean> {
    const outcome = await context.rollback(to, indexedBlock);
    if (outcome.status !== 'rolledBack') return true;
    if (seenTwice !== undefined) seenTwice = Math.min(seenTwice, to);
    observe({ type: 'reorganised', from: indexedBlock, to });
    return true;
  }

  function tooDeep(indexedBlock: BlockRef): ReorganisationTooDeep {
    return new ReorganisationTooDeep(
      `block ${indexedBlock.number} is not ${indexedBlock.hash} any more, and none of the ${reorgLimit} before it is as it was; ` +
        'roll back by hand to a block that still stands',
    );
  }

  /** Fetches a range by number, far enough from the head to stand. */
  async function catchUp(node: ChainSource, indexedBlock: BlockRef, settled: number, head: BlockHeader): Promise<void> {
    const from = indexedBlock.number + 1;
    const to = Math.min(indexedBlock.number + range.size, settled);
    const logs = await logsBetween(node, from, to);
    if (logs === undefined) return; // less of it, next
    const through = await blockBelow(node, to, head);
    if (logs.some(({ blockNumber, blockHash }) => blockNumber === to && blockHash !== through.hash)) {
      throw new Inconsistent(`block ${to} has two hashes`);
    }
    await apply({ ...(await reader.read(node, logs)), through: toBlockRef(through), after: indexedBlock }, head);
    range.answered(logs.length);
    movedAt = clock.now();
    seenTwice = to;
  }

  /**
   * A block that stands, as its successor names it too. One wrong hash that was believed could not be told from a
   * reorganisation too deep to go back, after which nothing goes on by itself.
   */
  async function blockBelow(node: ChainSource, number: number, head: BlockHeader): Promise<BlockHeader> {
    const [block, next] = await Promise.all([number, number + 1].map((each) => ask((call) => node.block(each, call))));
    if (block === undefined || next === undefined) {
      throw new Inconsistent(`it has block ${head.number}, but not block ${block === undefined ? number : number + 1}`);
    }
    if (next.parentHash !== block.hash) throw new Inconsistent(`block ${number} has two hashes`);
    return block;
  }

  /** @returns `undefined` when it was too much for the node, which is up otherwise: then it is asked for less. */
  async function logsBetween(node: ChainSource, from: number, to: number): Promise<readonly ChainLog[] | undefined> {
    try {
      return await reader.logsBetween(node, from, to);
    } catch (failure) {
      if (to === from || failure instanceof Inconsistent) throw failure;
      await ask((call) => node.head(call));
      observe({ type: 'failure', source: node.name, failure });
      range.rejected(to - from + 1);
      return undefined;
    }
  }

  /**
   * Reads blocks once more, from another node where there is one. What is known counts once, so this can only find what
   * was missing. After a start it goes further back: what came before may have been cut off.
   */
  async function lookAgain(indexedBlock: BlockRef, oldest: BlockRef): Promise<void> {
    const from = Math.max(seenTwice === undefined ? indexedBlock.number - reorgLimit : seenTwice, oldest.number) + 1;
    const newest = indexedBlock.number - REST;
    const node = usable[(turn + 1) % usable.length];
    if (node === undefined || newest < from) return;
    if (seenTwice !== undefined && newest - seenTwice < SECOND_LOOK) return;
    try {
      const to = Math.min(newest, from + range.size - 1);
      const logs = await logsBetween(node, from, to);
      if (logs === undefined) return;
      const missed = await reader.read(node, logs);
      if (missed.events.length > 0) {
        const outcome = await context.apply({ ...missed, through: indexedBlock, after: indexedBlock });
        if (outcome.status === 'moved') return;
        if (outcome.status === 'applied' && outcome.applied > 0) {
          observe({ type: 'missed', events: outcome.applied, block: to });
        }
      }
      seenTwice = to;
    } catch (failure) {
      if (failure instanceof StoreError) throw failure;
      observe({ type: 'failure', source: node.name, failure }); // a first look has been taken, so there is time
    }
  }

  /** Follows blocks by their hashes, each upon the one before. @returns how far it has come. */
  async function advance(node: ChainSource, indexedBlock: BlockRef, head: BlockHeader): Promise<BlockRef> {
    let on = indexedBlock;
    while (on.number < head.number && stopping?.signal.aborted === false) {
      const number = on.number + 1;
      const next = number === head.number ? head : await ask((call) => node.block(number, call));
      if (next === undefined) throw new Inconsistent(`it has block ${head.number}, but not block ${number}`);
      if (next.parentHash !== on.hash) break; // taken back just now: the next look finds how far
      const read = await reader.read(node, await reader.logsOf(node, next), next.timestamp);
      if (!(await apply({ ...read, through: toBlockRef(next), after: on }, head))) break;
      on = toBlockRef(next);
    }
    return on;
  }

  /** @returns whether it was upon the indexedBlock that is there. If not, somebody was faster, and the next look starts from there. */
  async function apply(batch: ChainBatch, head: BlockHeader): Promise<boolean> {
    const outcome = await context.apply(batch);
    switch (outcome.status) {
      case 'applied':
        observe({ type: 'progress', block: outcome.indexedBlock.number, head: head.number });
        return true;
      case 'conflict':
        throw new Inconsistent(`block ${outcome.block} has another hash than ${outcome.stored}`);
      case 'moved':
        return false;
    }
  }

  async function run(stop: AbortSignal): Promise<void> {
    while (!stop.aborted) {
      const node = usable[turn % usable.length];
      if (node === undefined) break;
      let wait: number | undefined;
      try {
        if (!(await step(node))) wait = pollInterval;
        failures = 0;
      } catch (failure) {
        if (stop.aborted) return;
        if (failure instanceof ReorganisationTooDeep) {
          onFailure(failure);
          break;
        }
        if (failure instanceof StoreError) {
          onFailure(failure);
          wait = Math.max(pollInterval, FIRST_RETRY);
        } else wait = failed(node, failure);
      }
      if (wait !== undefined) await sleep(wait, stop);
    }
    if (!stop.aborted) state = 'stopped';
  }

  /** Turns to the next node. @returns how long to wait before it is asked, once all of them have failed. */
  function failed(node: ChainSource, failure: unknown): number | undefined {
    observe({ type: 'failure', source: node.name, failure });
    if (failure instanceof ChainMismatch) {
      onFailure(failure);
      usable = usable.filter((each) => each !== node);
      return undefined;
    }
    state = 'unavailable';
    turn++;
    failures++;
    if (failures % usable.length !== 0) return undefined;
    return Math.min(LONGEST_RETRY, FIRST_RETRY * 2 ** Math.min(failures / usable.length - 1, 10));
  }

  function sleep(ms: number, stop: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        stop.removeEventListener('abort', done);
        cancel();
        resolve();
      };
      const cancel = clock.after(ms, done);
      stop.addEventListener('abort', done);
      if (stop.aborted) done();
    });
  }

  return {
    get state() {
      return state;
    },
    start() {
      if (running !== undefined) return;
      state = 'starting';
      stopping = new AbortController();
      running = run(stopping.signal).catch(onFailure);
    },
    async stop() {
      stopping?.abort(new Error('the book is closing'));
      await running;
      running = undefined;
      stopping = undefined;
      await leases.release({ name: LEASE, holder }).catch(onFailure);
    },
  };
}

const toBlockRef = ({ number, hash }: BlockRef): BlockRef => ({ number, hash });
