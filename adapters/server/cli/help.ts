import type { CommandName } from '../commands/names.ts';
import { CHAIN_NAMES } from '../config/schema.ts';
import type { Flag } from './flags.ts';
import { envName, FLAGS } from './flags.ts';

/** The text of `--help`. */
export function helpText(of?: CommandName): string {
  if (of !== undefined) return UPKEEP_HELP[of];
  const ofServe = Object.entries<Flag<unknown>>(FLAGS).filter(([, { scope }]) => scope !== 'upkeep');
  const flags = ofServe.map(([name, flag]) => {
    const { value, help, initial, initialText = initial === false ? 'off' : String(initial) } = flag;
    const left = `  --${name} ${value}`.padEnd(34);
    const unless = initial === undefined ? 'given' : `${initialText} unless given`;
    return `${left}${help}\n${' '.repeat(34)}${unless} here or as ${envName(name)}`;
  });
  return `intentbook: an order book for signed trade intents

Usage
  intentbook serve [flags]     serve one chain's order book over HTTP, kept in a file or in PostgreSQL
  intentbook serve --config <file> [--port <number>] [--host <address>]
                               serve many of them, each at a path of its own, as the file says
  intentbook migrate --postgres <url> [--schema <name>] [--accounts <url>]
                               make the tables in PostgreSQL, or bring them up to date
  intentbook export <file>     write a book's orders to a file, as NDJSON
  intentbook import <file>     store the orders of such a file, and compare them
  intentbook verify            check every UID, signature and document again
  intentbook prune             remove what has been over for long
  intentbook backup <file>     copy a book in SQLite while it is being served
  intentbook <command> --help  what each of these five does, with examples
  intentbook --help            this text
  intentbook --version         which version this is

Flags of serve
${flags.join('\n')}

A configuration file
  {
    "port": 8080,
    "defaults": { "maxOpenOrders": 500 },
    "books": [
      { "chain": "mainnet" },                              served at /mainnet, kept in mainnet.sqlite
      { "chain": "mainnet", "environment": "staging" },    at /staging/mainnet, in mainnet-staging.sqlite
      { "chain": 31337, "path": "/" }                      at the root
    ]
  }
  Its JSON schema, for editors and for reading: node_modules/intentbook/dist/config.schema.json

Chains
  ${CHAIN_NAMES.join(' ')}

Try it
  intentbook serve --port 8080 --chain sepolia
  curl http://127.0.0.1:8080/api/v1/version
  curl http://127.0.0.1:8080/api/v1/orders?limit=5

The server runs until it gets SIGINT (Ctrl-C) or SIGTERM. It then takes no more connections, gives the requests that
run 10 seconds to end, closes the database and exits with 0; a second signal ends it at once. It exits with 1 when it
cannot start, and with 2 when it does not understand what it was asked.
`;
}

const WHICH_BOOK = `Which book
  --chain <name>  --environment <name>  --settlement-contract <address>
  --db <file>, or --postgres <url> and --schema <name>; all as for serve, in the environment too
  --json         print the outcome as one JSON object, for machines`;

/** The texts of `intentbook <command> --help`. */
const UPKEEP_HELP: Readonly<Record<CommandName, string>> = {
  export: `intentbook export <file>: write all orders of a book to a file

One JSON object a line: the book's domain, then the orders, newest first, each with its document, its quote and whether
it was cancelled, then their number and the SHA-256 of all that stands before. An export that was interrupted goes on
where it stopped when it is run again. What the chain has said is left out, since the chain can be read again.

A file that a server writes to is taken by it: make a backup and export that.

${WHICH_BOOK}

Try it
  intentbook export orders.ndjson --chain sepolia --db intentbook.sqlite
`,
  import: `intentbook import <file>: store the orders of an exported file

Nothing is written before the whole file has been held against its count and its digest. Orders are stored oldest first,
read back and compared. An import that was interrupted is run again: what is there already is left alone. Fills and
other words of the chain come from the chain, by serving the book with its node.

${WHICH_BOOK}

Try it
  intentbook migrate --postgres postgres://localhost/books
  intentbook import orders.ndjson --chain sepolia --postgres postgres://localhost/books
`,
  verify: `intentbook verify: check what is stored

Makes every UID from the order's fields again, recovers every signature's signer, and hashes every document. Orders that
are signed on chain or by a contract are counted apart: only the chain can tell. Exits with 1 when something is wrong.

${WHICH_BOOK}

Try it
  intentbook verify --chain sepolia --db copy.sqlite --json
`,
  prune: `intentbook prune: remove what has been over for long

Removes orders that were created before, and whose validity has ended before, so many days ago: expired, cancelled or
filled. It goes in bounded steps, so that a server on the same PostgreSQL database goes on meanwhile. Expired quotes go
too. Documents, the log and what the chain has said stay.

  --older-than <days>   90 unless given

${WHICH_BOOK}

Try it
  intentbook prune --older-than 30 --chain sepolia --db intentbook.sqlite
`,
  backup: `intentbook backup <file>: copy a book in SQLite

Copies the file as it is at one moment while a server goes on writing to it, checks the copy, and leaves it to nobody, so
that it can be served, exported or verified at once. The file to make must not be there. For PostgreSQL use pg_dump.

  --db <file>    the book's file, intentbook.sqlite unless given
  --json         print the outcome as one JSON object, for machines

Try it
  intentbook backup monday.sqlite --db intentbook.sqlite
`,
};
