import type { OpenBook } from '../../server/books/open-books.ts';
import type { RunningServer } from '../../server/index.ts';
import { createStyle, type Style } from '../style.ts';
import { formatAction } from './audit.ts';
import type { Log } from './log.ts';

/** Output of a process. `process` is one. */
export interface TextOutput {
  readonly stdout: { write(text: string): unknown; readonly isTTY?: boolean };
  readonly stderr: { write(text: string): unknown };
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Creates the log for people: the start, failures, the stop, and on a terminal a line for each request. */
export function textLog(version: string, { stdout, stderr, env }: TextOutput = process): Log {
  const style = createStyle(stdout, env);
  let lastNodeError: string | undefined;
  return {
    started: (server) => void stdout.write(`${banner(version, server, style)}\n`),
    exchanged({ method, path, status, ms, errorType }) {
      if (stdout.isTTY !== true) return;
      const paint = status < 400 ? style.good : style.bad;
      const code = errorType === undefined ? '' : ` ${errorType}`;
      const time = new Date().toTimeString().slice(0, 8);
      const line = `${method.padEnd(6)} ${paint(String(status))} ${safe(path)}${code} ${ms.toFixed(1)} ms`;
      stdout.write(`${style.dim(time)} ${line}\n`);
    },
    audit: (action) => void stdout.write(`${formatAction(action, new Date())}\n`),
    notice: (text) => void stdout.write(`${text}\n`),
    warning: (text) => {
      // The line of the failure has the reason.
      const short = lastNodeError === undefined ? text : text.replace(` (${lastNodeError})`, '');
      stderr.write(`intentbook: ${short}\n`);
    },
    failure(_path, failure) {
      // A node that does not respond is no defect of the server: its stack is of no use.
      if (!(failure instanceof Error && failure.name === 'NodeError')) return console.error('intentbook:', failure);
      if (failure.message !== lastNodeError) stderr.write(`intentbook: node: ${failure.message}\n`);
      lastNodeError = failure.message;
    },
    stopping: (signal) =>
      void stdout.write(`${signal}: finishing running requests; a second signal exits immediately\n`),
    stopped: () => void stdout.write('stopped\n'),
  };
}

/** Removes control characters of a path, which could change a terminal. */
function safe(path: string): string {
  return path.replace(/[^!-~]/g, '?').slice(0, 200);
}

/** Formats the start-up message. */
function banner(version: string, server: RunningServer, style: Style): string {
  const { url, metricsUrl, deployments, explorerUrl, docsUrl } = server;
  const [only, ...others] = deployments;
  const row = (label: string, value: string) => `  ${label.padEnd(11)}${value}`;
  const link = (label: string, value: string | undefined) =>
    value === undefined ? [] : [row(label, style.link(value))];
  const isSingle = only !== undefined && only.path === '/' && others.length === 0;
  const books = isSingle
    ? getDetails(only).map(([label, value]) => row(label, value))
    : deployments.flatMap((each) => [
        row('book', style.link(url + (each.path === '/' ? '' : each.path))),
        ...getDetails(each).map(([label, value]) => row('', `  ${label.padEnd(9)}${value}`)),
      ]);
  return [
    style.title(`intentbook ${version} is ready; stop it with Ctrl-C`),
    ...link('address', url),
    ...link('API', isSingle ? `${url}/api/v1` : undefined),
    ...link('explorer', explorerUrl),
    ...link('docs', docsUrl),
    ...books,
    ...link('metrics', metricsUrl === undefined ? undefined : `${metricsUrl}/metrics`),
  ].join('\n');
}

function getDetails({
  chain,
  environment,
  book,
  database,
  nodes,
  upstream,
  testPrices = false,
}: OpenBook): (readonly [label: string, text: string])[] {
  const staging = environment === 'staging' ? ', staging' : '';
  return [
    ['chain', `${chain} (${book.chainId})${staging}, settlement contract ${book.settlementContract}`],
    ['database', database ?? 'in memory; all orders are lost at exit'],
    ...(testPrices ? [['prices', 'test prices, for quotes; set others with --prices'] as const] : []),
    ['nodes', nodes.length === 0 ? 'none; chain checks and indexing are off' : nodes.join(', ')],
    ...(upstream === undefined ? [] : [['upstream', `${upstream}; orders are sent there`] as const]),
  ];
}
