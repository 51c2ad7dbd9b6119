import assert from 'node:assert/strict';
import { parseCommand } from '../../../apps/cli/parse.ts';
import { ConfigError } from '../../../apps/server/config/config-errors.ts';
import { planServer } from '../../../apps/server/config/plan.ts';
import { FLAGS } from '../../../apps/server/settings/flags.ts';
import { UsageError } from '../../../apps/server/settings/usage-error.ts';
import type { Target } from '../target.ts';
import { isRejection, JSON_MARKS, rejecting, textOf } from '../target.ts';

const SETTINGS = {
  host: '127.0.0.1',
  port: 8080,
  metricsPort: 9100,
  log: 'json',
  rateLimit: { reads: 50, writes: 10, streams: 32 },
  trustedProxies: ['10.0.0.0/8'],
  accounts: ':memory:',
  notifications: 'on',
  explorer: false,
  operatorToken: 'x'.repeat(16),
  coinGecko: { apiKey: 'key', plan: 'demo' },
  usdPrices: { 1: { [`0x${'ab'.repeat(20)}`]: 1 } },
  webhookAllow: ['::1'],
  defaults: { maxOpenOrders: 'off', minValidity: 60, rpc: ['http://127.0.0.1:8545'] },
  books: [
    { chain: 'mainnet', db: ':memory:', prices: { [`0x${'ab'.repeat(20)}`]: { price: '1.5', decimals: 6 } } },
    { chain: 100, environment: 'staging', path: '/xdai', schema: 'book_xdai', postgres: 'postgres://a:b@localhost/c' },
  ],
};
const SECRET = 'hunter2';

const settings: Target = {
  name: 'settings',
  words: [
    ...JSON_MARKS,
    '"off"',
    '-1',
    '1e99',
    '1.5',
    '"__proto__"',
    '"constructor"',
    '"/"',
    '"/api"',
    '"books"',
    '"chain"',
    '"sepolia"',
    '"mainnet"',
    '"staging"',
    '"path"',
    '"db"',
    '"postgres"',
    '"defaults"',
    '"rpc"',
    '"prices"',
    '"price"',
    '"decimals"',
    '"http://"',
    '"postgres://"',
    '"pg_x"',
    '"maxOpenOrders"',
    '"usdToken"',
    '"token"',
  ],
  seeds: [JSON.stringify(SETTINGS), '{"books":[{}]}', '{"books":[{"chain":"mainnet"},{"chain":"mainnet"}]}'],
  run(bytes) {
    let value: unknown;
    try {
      value = JSON.parse(textOf(bytes));
    } catch {
      return 'not JSON';
    }
    const plan = rejecting(ConfigError, () => planServer(value, '/folder'));
    if (isRejection(plan)) return plan;
    assert.deepEqual(planServer(JSON.parse(JSON.stringify(value)), '/folder'), plan);
    assert.equal(new Set(plan.books.map(({ path }) => path)).size, plan.books.length);
    for (const { path } of plan.books) assert.match(path, /^\/(?:[A-Za-z0-9._~-]+(?:\/[A-Za-z0-9._~-]+)*)?$/);
    return plan;
  },
};

/** Words, one per line. A word with `=` that does not begin with a dash is a variable. */
const commandLine: Target = {
  name: 'command-line',
  words: [
    ...FLAGS.flatMap(({ name, variable }) => [`--${name}\n`, `--${name}=`, `${variable}=`]),
    'serve\n',
    'migrate\n',
    'export\n',
    'import\n',
    'verify\n',
    'prune\n',
    'backup\n',
    '-h',
    '--',
    '\n',
    '=',
    'off',
    'on',
    'sepolia',
    '1',
    '50,10,32',
    '127.0.0.1',
    'postgres://',
    `postgres://u:${SECRET}@h/d`,
    'http://h',
    'CMS_ENABLED=false',
    '--__proto__=1',
    '--constructor',
    '--toString',
    'INTENTBOOK_PROT=1',
    'INTENTBOOK_SERVICE_HOST=1',
  ],
  seeds: [
    'serve\n--port\n0\n--chain\nmainnet\n--db\n:memory:\n--rate-limit=off',
    `serve\n--postgres\npostgres://u:${SECRET}@h/d\n--schema\nx\n--migrate`,
    `prune\n--older-than\n5\n--json\nINTENTBOOK_DB=x`,
    `serve\n--solvers=http://u:${SECRET}@h,ftp://\nINTENTBOOK_OPERATOR_TOKEN=${SECRET}`,
  ],
  run(bytes) {
    // Flags come from the operator, so long ones are not an attack. Node.js compares each letter behind a dash with all
    // flags.
    const lines = textOf(bytes.subarray(0, 512)).split('\n');
    const isVariable = (line: string) => /^[^-=][^=]*=/.test(line);
    const env = Object.fromEntries(
      lines.filter(isVariable).map((line) => line.split(/=(.*)/s, 2) as [name: string, value: string]),
    );
    const args = lines.filter((line) => !isVariable(line));
    const command = rejecting(UsageError, () => parseCommand(args, env));
    if (isRejection(command)) return command;
    assert.deepEqual(parseCommand(args, env), command);
    return command;
  },
};

export const CONFIG_TARGETS: readonly Target[] = [settings, commandLine];
