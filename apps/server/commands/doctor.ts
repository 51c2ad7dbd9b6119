import { statfs } from 'node:fs/promises';
import { isBuiltin } from 'node:module';
import { arch, availableParallelism, freemem, platform, release, totalmem } from 'node:os';
import { dirname, resolve } from 'node:path';
import { describePackageFailure, formatError, parseServiceUrl, type ServiceUrl } from '#internal';
import { type BookPlan, getAddress, type ServerPlan } from '../config/plan.ts';
import { OPTIONAL_PACKAGES } from '../require-package.ts';
import { checkSettings, loadPackage } from './check.ts';

export interface ReportLine {
  readonly subject: string;
  readonly text: string;
  /** Whether the server would not work as it should. */
  readonly isProblem?: true;
}

/** Optional packages that a server loads: drivers of databases, signature recovery, and those of settings. */
const PACKAGES = ['better-sqlite3', 'pg', 'secp256k1', 'koffi', ...OPTIONAL_PACKAGES];

/** Time that a node may take to respond, in milliseconds. */
const NODE_TIMEOUT = 5_000;

/** Seconds by which the newest block or the clock of a node may differ from that of the machine. */
const MAX_CLOCK_ERROR = 120;

/** Free bytes below which a disk is reported. */
const LEAST_FREE = 1024 ** 3;

const GIB = 1024 ** 3;

/**
 * Examines the machine and what settings refer to: packages, databases, nodes, clock and disks. Changes nothing. The
 * lines have no secrets: addresses are those without credentials, paths and queries.
 *
 * @param folder - Base of relative file names. Default: the current directory.
 */
export async function examine(plan: ServerPlan, version: string, folder = '.'): Promise<readonly ReportLine[]> {
  const memory = `${(freemem() / GIB).toFixed(1)} of ${(totalmem() / GIB).toFixed(1)} GiB free`;
  const checked = await checkSettings(plan, folder, true).catch((error: unknown) => ({
    books: [],
    problems: [formatError(error)],
    notChecked: [],
  }));
  const parts = await Promise.all([
    examinePackages(),
    ...plan.books.flatMap((book) => [examineNodes(book), examineDisk(book)]),
  ]);
  return [
    { subject: 'intentbook', text: version },
    { subject: 'Node.js', text: `${process.versions.node}, ${isBuiltin('node:sqlite') ? 'with' : 'without'} SQLite` },
    {
      subject: 'machine',
      text: `${platform()} ${release()} ${arch()}, ${availableParallelism()} processors, ${memory}`,
    },
    { subject: 'time', text: new Date().toISOString() },
    ...checked.books.map(({ path, chain, chainId, environment, database }) => ({
      subject: `book ${path}`,
      text: `${chain} (${chainId}), ${environment}, ${database}`,
    })),
    ...parts.flat(),
    ...checked.problems.map((text) => ({ subject: 'settings', text, isProblem: true as const })),
  ];
}

/** Loads each package that is installed. */
async function examinePackages(): Promise<ReportLine[]> {
  const found = await Promise.all(
    PACKAGES.map(async (name) => {
      try {
        await loadPackage(name);
        return { name };
      } catch (error) {
        const isMissing = error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND';
        return isMissing ? undefined : { name, failure: describePackageFailure('the server', name, error) };
      }
    }),
  );
  const installed = found.filter((each) => each !== undefined);
  const names = installed.filter(({ failure }) => failure === undefined).map(({ name }) => name);
  return [
    { subject: 'packages', text: names.length === 0 ? 'none of the optional ones' : names.join(', ') },
    ...installed.flatMap(({ failure: text }) =>
      text === undefined ? [] : [{ subject: 'packages', text, isProblem: true as const }],
    ),
  ];
}

/** Reads the chain id and the newest block of each node. */
async function examineNodes({ path, chainId, settings }: BookPlan): Promise<ReportLine[]> {
  return Promise.all(
    (settings.rpc ?? []).map(async (url): Promise<ReportLine> => {
      const subject = `node of ${path}`;
      const node = parseServiceUrl('rpc', url);
      const { origin } = node.base;
      try {
        const found = Number(await call(node, 'eth_chainId', []));
        if (found !== chainId) {
          return { subject, text: `${origin} has chain ${found}, must have ${chainId}`, isProblem: true };
        }
        const block = (await call(node, 'eth_getBlockByNumber', ['latest', false])) as Record<string, string>; // JSON
        const age = Math.round(Date.now() / 1000 - Number(block['timestamp']));
        const text = `${origin}, block ${Number(block['number'])}, ${age} s old`;
        if (Math.abs(age) <= MAX_CLOCK_ERROR) return { subject, text };
        return { subject, text: `${text}: the node is behind, or a clock is wrong`, isProblem: true };
      } catch (error) {
        return { subject, text: `${origin}: ${formatError(error)}`, isProblem: true };
      }
    }),
  );
}

async function call({ base, authorization }: ServiceUrl, method: string, params: readonly unknown[]) {
  const response = await fetch(base, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...authorization },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    signal: AbortSignal.timeout(NODE_TIMEOUT),
  });
  const { result, error } = (await response.json()) as { result?: unknown; error?: { message?: string } }; // JSON-RPC
  if (result === undefined || result === null)
    throw new Error(error?.message ?? `no result, status ${response.status}`);
  return result;
}

async function examineDisk({ path, place }: BookPlan): Promise<ReportLine[]> {
  if (place.kind === 'memory') return [];
  // The database is examined with its schema.
  if (place.kind === 'postgres') return [{ subject: `database of ${path}`, text: getAddress(place.url) }];
  const folder = dirname(resolve(place.path));
  const subject = `disk of ${path}`;
  try {
    const { bavail, bsize } = await statfs(folder);
    const text = `${folder}, ${((bavail * bsize) / GIB).toFixed(1)} GiB free`;
    return [{ subject, text, ...(bavail * bsize < LEAST_FREE && { isProblem: true as const }) }];
  } catch (error) {
    // The check of the settings names a folder that does not exist.
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return [];
    return [{ subject, text: formatError(error), isProblem: true }];
  }
}
