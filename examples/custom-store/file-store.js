import { closeSync, existsSync, fsyncSync, openSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { deserialize, serialize } from 'node:v8';
import { StoreError } from 'intentbook';
import { memoryStore } from 'intentbook/memory';
import { assertSameDomain } from 'intentbook/store-kit';

/** Operations that change a store. */
const WRITES = /^(?:insert|addQuote|cancel|expire|reinstate|put|apply|adopt|rollback|record|write|prune|prune[A-Z].*)$/;

/**
 * Creates a store that keeps its state in memory and appends each change to a file. A change is on disk before its
 * result is returned. The file is replayed when the store is opened, so it suits small books.
 */
export function fileStore(path) {
  const memory = memoryStore();
  const queue = { last: Promise.resolve() };
  let file;
  let failure;

  /** Wraps the operations of a group: changes run one after the other and are written to the file. */
  function recorded(group, operations) {
    const entries = Object.entries(operations).map(([name, operation]) => {
      if (!WRITES.test(name)) return [name, (...args) => operation(...args)];
      const change = async (args) => {
        if (failure !== undefined) throw failure;
        const result = await operation(...args);
        append([group, name, args]);
        return result;
      };
      return [name, (...args) => enqueue(() => change(args))];
    });
    return Object.fromEntries(entries);
  }

  function enqueue(task) {
    const result = queue.last.then(task);
    queue.last = result.catch(() => undefined);
    return result;
  }

  function append(change) {
    try {
      writeFileSync(file, `${serialize(change).toString('base64')}\n`);
      fsyncSync(file);
    } catch (cause) {
      // The memory has a change that the file lacks, or has a part of: the store must be opened again.
      failure = new StoreError('Unavailable', `${path} cannot be written`, { cause });
      throw failure;
    }
  }

  return {
    traits: { ...memory.traits, name: 'file', durable: true },
    async open(context) {
      lock(path);
      try {
        const { chainId, settlementContract } = context.domain;
        const [recorded, ...changes] = readLines(path);
        if (recorded !== undefined) assertSameDomain(recorded, context.domain);
        await memory.open(context);
        for (const [group, name, args] of changes) await memory[group][name](...args);
        file = openSync(path, 'a');
        if (recorded === undefined) append({ chainId, settlementContract });
      } catch (error) {
        await memory.close();
        rmSync(`${path}.lock`);
        throw error;
      }
    },
    async close() {
      await queue.last;
      if (file !== undefined) {
        closeSync(file);
        rmSync(`${path}.lock`);
      }
      file = undefined;
      await memory.close();
    },
    check: () => memory.check(),
    orders: recorded('orders', memory.orders),
    appData: recorded('appData', memory.appData),
    quotes: recorded('quotes', memory.quotes),
    events: memory.events,
    chain: recorded('chain', memory.chain),
    auctions: recorded('auctions', memory.auctions),
    tasks: recorded('tasks', memory.tasks),
    retention: recorded('retention', memory.retention),
    leases: memory.leases,
  };
}

/**
 * Reads the entries of a file. A line without an end was being written when the process died: it is not confirmed, and
 * is removed, so that the next line begins at its place.
 */
function readLines(path) {
  if (!existsSync(path)) return [];
  const text = readFileSync(path, 'utf8');
  const end = text.lastIndexOf('\n') + 1;
  truncateSync(path, end);
  const lines = text.slice(0, end).split('\n').slice(0, -1);
  return lines.map((line) => deserialize(Buffer.from(line, 'base64')));
}

/** Locks a file for this process. The lock of a process that died is taken over. */
function lock(path) {
  const name = `${path}.lock`;
  if (existsSync(name) && isAlive(Number(readFileSync(name, 'utf8')))) {
    throw new StoreError('WriterActive', `${path} is in use by process ${readFileSync(name, 'utf8')}`);
  }
  writeFileSync(name, String(process.pid));
}

function isAlive(pid) {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
