import type { MaintenanceName } from '../server/commands/index.ts';
import type { Flag } from '../server/settings/flags.ts';
import { FLAGS } from '../server/settings/flags.ts';

export interface CommandInfo {
  readonly name: string;
  /** Placeholder of its argument: `<file>`. */
  readonly argument?: string;
  /** One line without a full stop. */
  readonly summary: string;
  /** Paragraphs that the help of the command prints. */
  readonly description?: string;
  readonly flags: readonly Flag[];
  /** Arguments after `intentbook`. */
  readonly examples: readonly string[];
}

const named = (...names: readonly string[]) =>
  FLAGS.filter(({ name }) => names.includes(name) || (name.endsWith('-file') && names.includes(name.slice(0, -5))));

const SERVE_FLAGS = [...named('config'), ...FLAGS.filter(({ scope }) => scope !== 'command')];
const BOOK = ['chain', 'environment', 'settlement-contract', 'db', 'postgres', 'schema'];

const RETENTION = ['retention-events', 'retention-chain-events', 'retention-documents', 'retention-notifications'];

const MAINTENANCE = [
  {
    name: 'export',
    argument: '<file>',
    summary: 'exports a book: orders as NDJSON, or a table as CSV or Parquet',
    description: `Writes one JSON object per line: the domain of the book, the orders, newest first, each with its document, its quote and
its cancellation, then the number of orders and the SHA-256 of the lines before. An interrupted export continues when it
is run again; orders that were created or cancelled meanwhile follow at the end. Chain events are not exported, since they
can be indexed again.

A file that ends with .csv or .parquet contains a table: the orders, the trades or the notifications. The file appears when
it is complete. The command prints a cursor: with --after, the next export has only what has changed since.

A server may write to the database meanwhile. With - as the file, the export is written to the standard output, and the
result to the error output; a table is CSV then.`,
    flags: named(...BOOK, 'accounts', 'table', 'after', 'json', 'log'),
    examples: [
      'export orders.ndjson --chain sepolia --db intentbook.sqlite',
      'export trades.parquet --table trades --db intentbook.sqlite',
      'export changes.csv --table trades --after 48211 --db intentbook.sqlite',
      'export - --table trades --db intentbook.sqlite',
    ],
  },
  {
    name: 'import',
    argument: '<file>',
    summary: 'imports the orders of an exported file; can be repeated',
    description: `Nothing is written before the whole file matches its count and its digest. Orders are stored oldest first, read back and
compared. An interrupted import can be run again: existing orders are skipped. Fills and other chain events are indexed
when the book is served with a node.`,
    flags: named(...BOOK, 'json', 'log'),
    examples: [
      'migrate --postgres postgres://localhost/books',
      'import orders.ndjson --chain sepolia --postgres postgres://localhost/books',
    ],
  },
  {
    name: 'verify',
    summary: 'verifies every UID, signature and document; exits with 1 if one differs',
    description: `Recomputes every UID, recovers the signer of every signature and hashes every document. Orders signed on chain or by a
contract are counted separately, since only the chain can verify them. With \`--against\`, each order is compared with that of
another order book instead: its status, its executed amounts, and its presence. Exits with 1 if a problem is found.`,
    flags: named(...BOOK, 'against', 'against-key', 'json', 'log'),
    examples: [
      'verify --chain sepolia --db copy.sqlite --json',
      'verify --chain mainnet --db book.sqlite --against https://api.cow.fi/mainnet',
    ],
  },
  {
    name: 'prune',
    summary: 'deletes orders that finished long ago, and further old data on request',
    description: `Deletes expired, cancelled and filled orders whose creation and validity are older than a number of days, and expired
quotes. It runs in bounded steps beside a server on the same PostgreSQL database.

On a terminal, it prints the number of orders first and waits for a confirmation, unless --yes is given. With --dry-run it
prints the number and deletes nothing. Orders whose expiry is not recorded yet are not in it: a server records it within
seconds, and prune does so first.

Entries of the log, chain events, documents and notifications stay unless their --retention flag is given. Notifications
require --accounts, whose expired nonces are deleted too. Readers of the log must have read what is deleted: entries about
old blocks can be deleted as soon as they are written, so the indexer and notifications should have caught up.`,
    flags: named(...BOOK, 'older-than', ...RETENTION, 'accounts', 'dry-run', 'yes', 'json', 'log'),
    examples: [
      'prune --dry-run --db intentbook.sqlite',
      'prune --older-than 30 --chain sepolia --db intentbook.sqlite',
      'prune --older-than 30 --retention-events 30 --retention-documents 60 --postgres postgres://localhost/books',
      'prune --accounts postgres://localhost/books --retention-notifications 90 --db intentbook.sqlite',
    ],
  },
  {
    name: 'rollback',
    summary: 'removes the chain events above a block, after a reorganisation that is too deep for the indexer',
    description: `A reorganisation deeper than --reorg-limit stops the indexer, and the server is not ready. Stop the server, roll back to
a block that is still on the chain, and start the server again: it indexes the blocks above again. Orders return to their
state at that block. A block whose hash the store does not know requires a node. An interrupted rollback can be repeated.`,
    flags: named(...BOOK, 'rpc', 'to-block', 'json', 'log'),
    examples: ['rollback --to-block 21000000 --chain mainnet --db mainnet.sqlite --rpc https://rpc.example.org'],
  },
  {
    name: 'forget',
    summary: 'deletes the personal data of an account: subscriptions, deliveries and notifications',
    description: `Deletes the subscriptions of an account with their targets, its deliveries, invitations and notifications, and its
affiliate code, in one step. Orders stay, and later events of them create notifications again. The affiliate code stays if a
referred trade was valued for it, because its payout requires it. Backups are not changed.

It runs beside a server on the same PostgreSQL database. The file of a running server has a writer: stop the server first.`,
    flags: named('account', 'accounts', 'db', 'json', 'log'),
    examples: [
      'forget --account 0x70997970c51812dc3a010c7d01b50e0d17dc79c8 --accounts postgres://localhost/books',
      'forget --account 0x70997970c51812dc3a010c7d01b50e0d17dc79c8 --db intentbook.sqlite',
    ],
  },
  {
    name: 'backup',
    argument: '<file>',
    summary: 'copies an SQLite book while a server writes to it',
    description: `Copies a consistent state of the file while a server writes to it, checks the copy and clears the writer lease in the
copy. The copy can be served, exported or verified at once. The target file must not exist. For PostgreSQL use pg_dump.

With --config, the argument is a folder: the files of all books, and that of the account store, are copied into it.`,
    flags: named('config', 'db', 'accounts', 'json', 'log'),
    examples: ['backup monday.sqlite --db intentbook.sqlite', 'backup monday --config intentbook.json'],
  },
  {
    name: 'restore',
    argument: '<file>',
    summary: 'with --check, verifies a backup and prints what its restore would lose',
    description: `Checks every page of a backup of an SQLite book, verifies every UID, signature and document, and compares its log with
that of the present database, which a server may have open. It prints the entries that the backup does not have: orders,
trades and others. Both files are only read. Exits with 1 if a problem is found.

It restores nothing: stop the server, delete the files -wal and -shm, and replace the database by the backup.`,
    flags: named(...BOOK, 'check', 'json', 'log'),
    examples: ['restore monday.sqlite --check --chain sepolia --db intentbook.sqlite'],
  },
  {
    name: 'begin-epoch',
    summary: 'begins a new log epoch, after a restore that the store cannot detect',
    description: `The next entry of the log begins a new log epoch, so that a reader which has seen lost entries receives a gap. Run it
after a restore from a snapshot of a disk, or from a copy of an SQLite file that was made without intentbook backup, before
the server starts. Other restores begin a new log epoch without it. With --accounts, it changes the log of the accounts too.`,
    flags: named('db', 'postgres', 'schema', 'accounts', 'json', 'log'),
    examples: [
      'begin-epoch --db intentbook.sqlite --accounts intentbook-accounts.sqlite',
      'begin-epoch --postgres postgres://localhost/books --accounts postgres://localhost/books',
    ],
  },
] as const satisfies readonly (CommandInfo & { readonly name: MaintenanceName })[];

/** The commands, in the order of the help. */
export const COMMANDS: readonly CommandInfo[] = [
  {
    name: 'serve',
    summary: 'serves one or more order books over HTTP',
    description: `Serves one book, in a file or in PostgreSQL, or the books of a configuration file, each at its path.

The server runs until SIGINT (Ctrl-C), SIGTERM, or SIGHUP of its terminal. Then it accepts no more connections, waits up to 10 seconds for
running requests, closes the databases and exits with 0. A second signal ends it at once. It exits with 1 if it cannot
start or has lost its store, and with 2 for an invalid command line or configuration.`,
    flags: SERVE_FLAGS,
    examples: [
      'serve --chain sepolia --db orders.sqlite --port 8080',
      'serve --chain gnosis --rpc https://rpc.example.org --metrics-port 9464',
      'serve --config intentbook.json',
    ],
  },
  {
    name: 'check',
    summary: 'checks the settings, packages and files of a server without starting it',
    description: `Takes the flags of serve. Sends no request. Exits with 1 if a package, a file or the folder of a database is missing, or
if a database file is not one of SQLite, and with 2 if a setting is invalid. With --connect, it also compares the schemas of
PostgreSQL with those that this release needs, names each difference and what to do, and changes nothing. It prints the parts
that were not checked.`,
    flags: [...SERVE_FLAGS, ...named('connect', 'json')],
    examples: ['check --config intentbook.json --connect', 'check --chain gnosis --rpc https://rpc.example.org'],
  },
  {
    name: 'doctor',
    summary: 'reports versions, packages, databases, nodes, clock and disks, for a bug report',
    description: `Takes the flags of serve. Connects to the databases and nodes, and changes nothing. The report has no secrets. Exits
with 1 if it contains a problem.`,
    flags: [...SERVE_FLAGS, ...named('json')],
    examples: ['doctor --config intentbook.json', 'doctor --chain gnosis --rpc https://rpc.example.org'],
  },
  {
    name: 'init',
    argument: '[file]',
    summary: 'writes a configuration file with comments; intentbook.json by default',
    description: 'On a terminal, it requests the chain that is not given.',
    flags: named('chain', 'json'),
    examples: ['init', 'init books.json --chain gnosis'],
  },
  {
    name: 'keys',
    argument: 'create <name>',
    summary: 'creates an API key, and prints it once with its line of the configuration',
    description: `Prints a random key of 256 bits and the line that "apiKeys" of the configuration file needs. The line has the SHA-256 of
the key only. Add a budget to it: "reads" and "writes" with "perSecond" and "burst", and "streams". Without one, the key has
the limits of rateLimit, separate from those of its address. Nothing is written to a file.`,
    flags: named('json', 'log'),
    examples: ['keys create market-maker', 'keys create market-maker --json'],
  },
  {
    name: 'sandbox',
    summary: 'starts a local chain, an order book and a solver for tests',
    flags: [],
    examples: ['sandbox'],
  },
  {
    name: 'migrate',
    summary: 'creates or updates the PostgreSQL schema of a book, of the accounts, or of both',
    description: `Creates the tables that are missing and updates older ones. Run it before a new version of the server starts.`,
    flags: named('postgres', 'schema', 'accounts', 'json', 'log'),
    examples: ['migrate --postgres postgres://localhost/books --schema intentbook_mainnet'],
  },
  ...MAINTENANCE,
  {
    name: 'completion',
    argument: '<shell>',
    summary: 'prints the completion of bash, zsh or fish',
    description: `Completes commands, flags, and values of flags with few values. Put eval "$(intentbook completion bash)" into
~/.bashrc, the same with zsh into ~/.zshrc, or intentbook completion fish | source into config.fish.`,
    flags: [],
    examples: ['completion bash'],
  },
  { name: 'help', argument: '[command]', summary: 'prints the help of a command', flags: [], examples: ['help serve'] },
  { name: 'version', summary: 'prints the version', flags: named('json'), examples: ['version --json'] },
];

export function findCommand(name: string | undefined): CommandInfo | undefined {
  return COMMANDS.find((command) => command.name === name);
}

export function toMaintenanceName(name: string): MaintenanceName | undefined {
  return MAINTENANCE.find((command) => command.name === name)?.name;
}
