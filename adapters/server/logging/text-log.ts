import type { RunningServer } from '../index.ts';
import type { OpenBook } from '../open-books.ts';
import type { Log } from './log.ts';

/** Creates the log for a terminal. It does not log every request. */
export function textLog(version: string): Log {
  return {
    started: (server) => console.log(greeting(version, server)),
    exchanged() {},
    failure: (_path, failure) => console.error('intentbook:', failure),
    stopping: (signal) => console.log(`${signal}: finishing the requests that run; a second signal ends them`),
  };
}

/** Formats the start-up message. */
function greeting(version: string, { url, metricsUrl, deployments }: RunningServer): string {
  const [only, ...others] = deployments;
  const books =
    only !== undefined && only.path === '/' && others.length === 0
      ? [`database   ${databaseOf(only)}`, `chain      ${domainOf(only)}`]
      : deployments.flatMap((each) => [`book       ${url}${each.path === '/' ? '' : each.path}`, ...detailsOf(each)]);
  const metrics = metricsUrl === undefined ? [] : [`metrics    ${metricsUrl}/metrics`];
  return [`intentbook ${version} is ready; stop it with Ctrl-C`, `address    ${url}`, ...books, ...metrics].join(
    '\n  ',
  );
}

function detailsOf(deployment: OpenBook): string[] {
  return [`             ${domainOf(deployment)}`, `             database ${databaseOf(deployment)}`];
}

function databaseOf({ database }: OpenBook): string {
  return database ?? 'none, all is forgotten at the end';
}

function domainOf({ chain, environment, book }: OpenBook): string {
  const staging = environment === 'staging' ? ', staging' : '';
  return `${chain} (${book.chainId})${staging}, settlement contract ${book.settlementContract}`;
}
