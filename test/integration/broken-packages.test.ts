import { createECDH } from 'node:crypto';
import { isBuiltin } from 'node:module';
import { emailChannel, webPushChannel } from 'intentbook/channels';
import { nativeRecovery, systemRecovery } from 'intentbook/native';
import { postgresStore } from 'intentbook/postgres';
import { instrumentAccounts, instrumentBooks } from 'intentbook/prometheus';
import { sqliteStore } from 'intentbook/sqlite';
import { recoveryPool } from 'intentbook/workers';
import { describe, expect, test, vi } from 'vitest';
import { checkSettings } from '../../apps/server/commands/check.ts';
import { planServer } from '../../apps/server/config/plan.ts';
import { DOMAIN } from '../conformance/harness.ts';
import { manualClock } from '../support/clock.ts';

const breakPackage = vi.hoisted(() => () => {
  throw new Error('The module was compiled against a different Node.js version');
});
vi.mock('@nats-io/jetstream', breakPackage);
vi.mock('@nats-io/transport-node', breakPackage);
vi.mock('better-sqlite3', breakPackage);
// Node.js 22.13 and later would serve instead of better-sqlite3.
vi.mock('node:sqlite', breakPackage);
vi.mock('koffi', breakPackage);
vi.mock('nodemailer', breakPackage);
vi.mock('pg', breakPackage);
vi.mock('pg', breakPackage);
vi.mock('pino', breakPackage);
vi.mock('piscina', breakPackage);
vi.mock('prom-client', breakPackage);
vi.mock('secp256k1/bindings.js', breakPackage);
vi.mock('viem', breakPackage);
vi.mock('web-push', breakPackage);

const context = { domain: DOMAIN, clock: manualClock() };
/** What a registry of the package has and the failure never reaches. */
const REGISTRY = { metrics: () => '', getSingleMetric: () => undefined } as never;
const call = { signal: new AbortController().signal };
const delivery = { id: 'msg_1', subscription: { target: '{}' } } as never; // the package is loaded before it is read
/** The key 1, and the point of the curve that belongs to it. */
const ecdh = createECDH('prime256v1');
ecdh.setPrivateKey('01', 'hex');
const KEYS = {
  publicKey: ecdh.getPublicKey('base64url'),
  privateKey: Buffer.from('1'.padStart(64, '0'), 'hex').toString('base64url'),
};

describe('package that is installed, but does not load', () => {
  test.each<[name: string, use: () => unknown]>([
    ['better-sqlite3', () => sqliteStore({ path: 'never-made.sqlite' }).open(context)],
    ['pg', () => postgresStore({ url: 'postgres://127.0.0.1:1/x' }).open(context)],
    ['secp256k1', () => nativeRecovery()],
    ['koffi', () => systemRecovery()],
    ['piscina', () => recoveryPool()],
    ['prom-client', () => instrumentBooks(REGISTRY, [])],
    ['prom-client', () => instrumentAccounts(REGISTRY, {} as never)],
    [
      'nodemailer',
      () =>
        emailChannel({ smtp: 'smtp://localhost', from: 'a@example.org', publicUrl: 'https://example.org' }).deliver(
          delivery,
          call,
        ),
    ],
    ['web-push', () => webPushChannel({ subject: 'mailto:a@example.org', ...KEYS }).deliver(delivery, call)],
  ])('%s: the failure names the package and the repair', async (name, use) => {
    const error = await Promise.resolve(use()).catch((failure: unknown) => failure);
    expect(String(error)).toContain(`requires the package ${name}, which is installed, but does not load`);
    expect(String(error)).toContain(`npm rebuild ${name}`);
  });

  test('check reports it as a problem', async () => {
    const plan = planServer({ log: 'json', books: [{ path: '/', db: 'never-made.sqlite' }] }, '.');
    const { problems } = await checkSettings(plan, '.', false);
    const needed = isBuiltin('node:sqlite') ? ['pino'] : ['pino', 'better-sqlite3'];
    expect(problems).toEqual(
      needed.map((name) => expect.stringContaining(`${name}, which is installed, but does not load`)),
    );
  });

  test.each([{ defaults: { natsUrl: ['nats://a'] } }, { books: [{ db: ':memory:', natsUrl: ['nats://a'] }] }])(
    'check reports those of %j',
    async (settings) => {
      const plan = planServer({ books: [{ db: ':memory:' }], affiliateRpc: ['http://127.0.0.1:1'], ...settings }, '.');
      const { problems } = await checkSettings(plan, '.', false);
      expect(problems.map((problem) => problem.split(',')[0])).toEqual([
        '"affiliateRpc" requires the package viem',
        '"natsUrl" requires the package @nats-io/jetstream',
        '"natsUrl" requires the package @nats-io/transport-node',
      ]);
    },
  );

  test.each([
    ['accounts.sqlite', isBuiltin('node:sqlite') ? [] : ['"accounts" requires the package better-sqlite3']],
    ['postgres://a/b', ['"accounts" requires the package pg']],
    [':memory:', []],
  ])('check reports those of the account store %s', async (accounts, expected) => {
    const { problems } = await checkSettings(planServer({ books: [{ db: ':memory:' }], accounts }, '.'));
    expect(problems.map((problem) => problem.split(',')[0])).toEqual(expected);
  });
});
