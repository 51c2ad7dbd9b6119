// A server with a configurable sync mode of its store, for the trace of its system calls.
import { serve } from 'intentbook/server';
import { sqliteStore } from 'intentbook/sqlite';

const [path, synchronous] = process.argv.slice(2);
const server = await serve({ port: 0, rateLimit: 'off', store: sqliteStore({ path, synchronous }) });
console.log(`pid ${process.pid}\naddress ${server.url}`);
process.on('SIGTERM', () => server.close().then(() => process.exit(0)));
