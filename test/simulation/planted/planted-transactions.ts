import type { PlantedFault } from './planted.ts';

const FILE = 'adapters/sqlite/store-with-reader.ts';
const READ =
  'return withWrites(assembleBook(reader, createReaderLease(reader, writer.isUnchanged), clock), writer, watch);';

/** Returns code that reads some operations with the handle of the application. @param used - Members of `own`. */
const readWithHandle = (used: string) => `
    const lease = createReaderLease(reader, writer.isUnchanged);
    const { connectSqlite } = await import('./connection.ts');
    const book = assembleBook(reader, lease, clock);
    const own = assembleBook(await connectSqlite(source), lease, clock);
    return withWrites({ ...book, ${used} }, writer, watch);
`;

/** Faults of transactions of the application. */
export const PLANTED_TRANSACTIONS: readonly PlantedFault[] = [
  {
    name: 'events of a transaction are published before its commit',
    area: 'transactions',
    store: 'handle',
    file: FILE,
    find: READ,
    replace: readWithHandle('events: own.events'),
  },
  {
    name: 'orders of a transaction are read before its commit',
    area: 'transactions',
    store: 'handle',
    file: FILE,
    find: READ,
    replace: readWithHandle('orders: own.orders'),
  },
  {
    name: 'auctions keep what they have read in a transaction that was rolled back',
    isQuick: true,
    area: 'transactions',
    store: 'handle',
    file: FILE,
    find: READ,
    replace: readWithHandle('...own'),
  },
  {
    name: 'the commit of a transaction is not noticed',
    area: 'transactions',
    store: 'handle',
    file: 'adapters/sqlite/handle-store.ts',
    find: 'onJoined: waitForCommit,',
    replace: 'onJoined() {},',
  },
  {
    name: 'other writes become part of a transaction',
    area: 'transactions',
    store: 'handle',
    file: 'adapters/sqlite/session.ts',
    find: '  if (database.inTransaction) {\n',
    replace: '  if (database.inTransaction) return work();\n  if (database.memory) {\n',
  },
  {
    name: 'an order that has joined a transaction is undone',
    area: 'transactions',
    store: 'handle',
    file: 'adapters/sqlite/session.ts',
    find: "['SAVEPOINT intentbook', 'RELEASE intentbook', UNDO_JOINED]",
    replace: "['SAVEPOINT intentbook', 'ROLLBACK TO intentbook; RELEASE intentbook', UNDO_JOINED]",
  },
  {
    name: 'an order that has joined a transaction of PostgreSQL is undone',
    area: 'transactions',
    store: 'postgres',
    file: 'adapters/postgres/session.ts',
    find: "    await client.query({ text: 'RELEASE SAVEPOINT intentbook' });\n    return result;",
    replace: '    await rollBackToSavepoint(client);\n    return result;',
  },
  {
    name: 'an order is inserted beside the transaction of the application',
    area: 'transactions',
    store: 'postgres',
    file: 'adapters/postgres/session.ts',
    find: 'return await runInTurn(transaction, () => runInSavepoint(transaction, work));',
    replace: 'return await session.write(operation, work);',
  },
];
