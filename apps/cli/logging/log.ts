import type { Exchange, OperatorAction, RunningServer } from '../../server/index.ts';
import { requirePackage } from '../../server/require-package.ts';

export interface Log {
  started(server: RunningServer): void;
  exchanged(exchange: Exchange): void;
  /** Reports an action of an operator. */
  audit(action: OperatorAction): void;
  /** Reports a change of state. */
  notice(text: string): void;
  /** Reports a problem that the server survives. */
  warning(text: string): void;
  failure(path: string, failure: unknown): void;
  stopping(signal: string): void;
  /** All requests are finished and all databases are closed. */
  stopped(): void;
}

/** Paths of probes, also of one book. */
const PROBE = /^\/(?:live|ready|.*\/api\/v1\/ready|api\/v1\/ready)\/?$/;

/** Maximum number of bytes that wait for a reader of the log which hangs. Further lines are dropped and counted. */
const MAX_WAITING = 4 * 1024 * 1024;

/** Creates a JSON log on the standard output. Requires the package pino. */
export async function createLog(
  version: string,
  output: Pick<NodeJS.WriteStream, 'write' | 'writableLength'> = process.stdout,
): Promise<Log> {
  const { pino } = await requirePackage('--log json', 'pino', () => import('pino'));
  const options = {
    base: { name: 'intentbook', version, pid: process.pid },
    timestamp: pino.stdTimeFunctions.isoTime,
  };
  // Pino's own destination can write the last two lines in reverse order, when the process exits after them.
  const log = pino(options, { write });
  let dropped = 0;
  function write(line: string): void {
    if (output.writableLength > MAX_WAITING) {
      dropped++;
      return;
    }
    const lines = dropped;
    dropped = 0;
    if (lines > 0) log.warn({ lines }, 'lines were dropped: the reader of the log is too slow');
    output.write(line);
  }
  return {
    started({ url, metricsUrl, deployments }) {
      const books = deployments.map(({ path, chain, environment, book }) => ({
        path,
        chain,
        environment,
        chainId: book.chainId,
        settlementContract: book.settlementContract,
      }));
      log.info({ url, metricsUrl, books }, 'ready');
    },
    exchanged({ id, ms, status, ...exchange }) {
      // Orchestrators send several probes per second. Their failures have a reason in the log.
      if (status < 400 && PROBE.test(exchange.path)) return;
      const line = { requestId: id, ...exchange, status, ms: Math.round(ms * 1000) / 1000 };
      log[status >= 500 ? 'error' : 'info'](line, 'request');
    },
    audit: (action) => log.info(action, 'audit'),
    notice: (text) => log.info(text),
    warning: (text) => log.warn(text),
    failure: (path, failure) => log.error({ book: path, err: failure }, 'failure'),
    stopping: (signal) => log.info({ signal }, 'stopping'),
    stopped: () => log.info('stopped'),
  };
}
