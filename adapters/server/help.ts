import type { Flag } from './flags.ts';
import { envName, FLAGS } from './flags.ts';
import { CHAIN_NAMES } from './settings.ts';

/** The text of `--help`. */
export function helpText(): string {
  const flags = Object.entries(FLAGS).map(([name, flag]: [string, Flag<unknown>]) => {
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
  intentbook migrate --postgres <url> [--schema <name>]
                               make the tables in PostgreSQL, or bring them up to date
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
