import { userInfo } from 'node:os';
import { resolve } from 'node:path';
import { getAddress } from '../../server/config/plan.ts';
import type { OperatorAction } from '../../server/http/operator-audit.ts';
import type { LogFormat } from '../parse.ts';

/** Formats an action as one line of text: JSON without characters that could change a terminal. */
export function formatAction(action: OperatorAction, now: Date): string {
  const text = JSON.stringify({ time: now.toISOString(), ...action });
  return `audit: ${text.replace(/[^ -~]/g, '?')}`;
}

/**
 * Runs a command and writes a line about it to the error output, in the format of the log. Without a format, no line is
 * written.
 */
export async function audited<T>(
  log: LogFormat | undefined,
  { action, target }: Pick<OperatorAction, 'action' | 'target'>,
  run: () => T | Promise<T>,
  isOk: (result: T) => boolean = () => true,
): Promise<T> {
  const write = (end: Pick<OperatorAction, 'result' | 'code'>) => {
    if (log === undefined) return;
    const entry = { action, who: getUser(), target, ...end };
    const now = new Date();
    const json = () =>
      JSON.stringify({ level: 30, time: now.toISOString(), name: 'intentbook', ...entry, msg: 'audit' });
    process.stderr.write(`${log === 'json' ? json() : formatAction(entry, now)}\n`);
  };
  try {
    const result = await run();
    write({ result: isOk(result) ? 'ok' : 'failed' });
    return result;
  } catch (error) {
    const { code, name } = Object(error) as { code?: unknown; name?: unknown }; // anything can be thrown
    write({ result: 'failed', code: String(code ?? name ?? 'Error') });
    throw error;
  }
}

/** The places that a command uses. */
type Place = 'db' | 'postgres' | 'schema' | 'accounts' | 'config' | 'file' | 'account';

/** Formats the databases, the file and the account of a command, without the secrets of connection strings. */
export function formatTarget(places: Readonly<Partial<Record<Place, string | undefined>>>): string {
  const { db, postgres, schema, accounts, config, file, account } = places;
  const book = postgres === undefined ? db && resolve(db) : `${getAddress(postgres)}, schema ${schema ?? 'intentbook'}`;
  const parts = {
    book: config === undefined ? book : undefined,
    config: config && resolve(config),
    accounts: accounts && (accounts.startsWith('postgres') ? getAddress(accounts) : resolve(accounts)),
    file: file && (file === '-' ? file : resolve(file)),
    account,
  };
  return Object.entries(parts)
    .flatMap(([name, place]) => (place ? [`${name}: ${place}`] : []))
    .join('; ');
}

/** Returns the user of the process. A container may have no name for it. */
function getUser(): string {
  try {
    return `user ${userInfo().username}`;
  } catch {
    return `user ${process.getuid?.() ?? 'unknown'}`;
  }
}
