import type { CommandName } from '../commands/names.ts';
import { CHAIN_NAMES } from '../config/schema.ts';
import type { Flag } from './flags.ts';
import { FLAGS, getVariableName } from './flags.ts';

/** The text of `--help`. */
export function helpText(of?: CommandName): string {
  if (of !== undefined) return COMMAND_HELP[of];
  const serveFlags = Object.entries<Flag<unknown>>(FLAGS).filter(([, { scope }]) => scope !== 'command');
  const flags = serveFlags.map(([name, flag]) => {
    const { value, help, initial, initialText = initial === false ? 'off' : String(initial) } = flag;
    const left = `  --${name} ${value}`.padEnd(34);
    const byDefault = initial === undefined ? '' : `default: ${initialText}; `;
    return `${left}${help}\n${' '.repeat(34)}${byDefault}variable: ${getVariableName(name)}`;
  });
  return `intentbook: an order book for signed trade intents

Usage
  intentbook serve [flags]     serve one order book over HTTP, stored in a file or in PostgreSQL
  intentbook serve --config <file> [--port <number>] [--host <address>]
                               serve the books of a configuration file, each at its path
  intentbook migrate --postgres <url> [--schema <name>] [--accounts <url>]
                               create or migrate the tables in PostgreSQL
  intentbook sandbox           start a local chain, an order book and a solver for tests
  intentbook export <file>     export the orders of a book as NDJSON
  intentbook import <file>     import the orders of an exported file
  intentbook verify            verify every UID, signature and document
  intentbook prune             delete orders that finished long ago
  intentbook backup <file>     copy a SQLite book while it is served
  intentbook <command> --help  help and examples of a command
  intentbook --help            this text
  intentbook --version         print the version

Flags of serve
${flags.join('\n')}

Configuration file
  {
    "port": 8080,
    "defaults": { "maxOpenOrders": 500 },
    "books": [
      { "chain": "mainnet" },                              served at /mainnet, stored in mainnet.sqlite
      { "chain": "mainnet", "environment": "staging" },    served at /staging/mainnet, stored in mainnet-staging.sqlite
      { "chain": 31337, "path": "/" }                      served at the root
    ]
  }
  JSON schema: node_modules/intentbook/dist/config.schema.json

Chains
  ${CHAIN_NAMES.join(' ')}

Examples
  intentbook serve --port 8080 --chain sepolia
  curl http://127.0.0.1:8080/api/v1/version
  curl http://127.0.0.1:8080/api/v1/orders?limit=5

The server runs until SIGINT (Ctrl-C) or SIGTERM. Then it accepts no more connections, waits up to 10 seconds for running
requests, closes the database and exits with 0. A second signal ends it at once. It exits with 1 if it cannot start, and
with 2 for an invalid command line or configuration.
`;
}

const BOOK_SELECTION = `Book selection
  --chain <name>  --environment <name>  --settlement-contract <address>
  --db <file>, or --postgres <url> and --schema <name>; as for serve, also as environment variables
  --json         print the result as one JSON object`;

/** The help of each maintenance command. */
const COMMAND_HELP: Readonly<Record<CommandName, string>> = {
  export: `intentbook export <file>: export all orders of a book

Writes one JSON object per line: the domain of the book, the orders, newest first, each with its document, its quote and
its cancellation, then the number of orders and the SHA-256 of the lines before. An interrupted export continues when it
is run again. Chain events are not exported, since they can be indexed again.

A database file in use by a server is locked: create a backup and export the backup.

${BOOK_SELECTION}

Examples
  intentbook export orders.ndjson --chain sepolia --db intentbook.sqlite
`,
  import: `intentbook import <file>: import the orders of an exported file

Nothing is written before the whole file matches its count and its digest. Orders are stored oldest first, read back and
compared. An interrupted import can be run again: existing orders are skipped. Fills and other chain events are indexed
when the book is served with a node.

${BOOK_SELECTION}

Examples
  intentbook migrate --postgres postgres://localhost/books
  intentbook import orders.ndjson --chain sepolia --postgres postgres://localhost/books
`,
  verify: `intentbook verify: verify the stored orders

Recomputes every UID, recovers the signer of every signature and hashes every document. Orders signed on chain or by a
contract are counted separately, since only the chain can verify them. Exits with 1 if a problem is found.

${BOOK_SELECTION}

Examples
  intentbook verify --chain sepolia --db copy.sqlite --json
`,
  prune: `intentbook prune: delete orders that finished long ago

Deletes expired, cancelled and filled orders whose creation and validity are older than a number of days, and expired
quotes. It runs in bounded steps beside a server on the same PostgreSQL database. Documents, the log and chain events
stay.

  --older-than <days>   default: 90

${BOOK_SELECTION}

Examples
  intentbook prune --older-than 30 --chain sepolia --db intentbook.sqlite
`,
  backup: `intentbook backup <file>: copy a SQLite book

Copies a consistent state of the file while a server writes to it, checks the copy and clears the writer lease in the
copy. The copy can be served, exported or verified at once. The target file must not exist. For PostgreSQL use pg_dump.

  --db <file>    database file, default: intentbook.sqlite
  --json         print the result as one JSON object

Examples
  intentbook backup monday.sqlite --db intentbook.sqlite
`,
};
