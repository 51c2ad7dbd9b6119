import type { Deployment } from './deployments.ts';
import type { RunningServer } from './index.ts';

/** What a server says once it is ready. */
export function greeting(version: string, { url, deployments }: RunningServer): string {
  const [only, ...others] = deployments;
  const books =
    only !== undefined && only.path === '/' && others.length === 0
      ? [`database   ${databaseOf(only)}`, `chain      ${domainOf(only)}`]
      : deployments.flatMap((each) => [`book       ${url}${each.path === '/' ? '' : each.path}`, ...detailsOf(each)]);
  return [`intentbook ${version} is ready; stop it with Ctrl-C`, `address    ${url}`, ...books].join('\n  ');
}

function detailsOf(deployment: Deployment): string[] {
  return [`             ${domainOf(deployment)}`, `             database ${databaseOf(deployment)}`];
}

function databaseOf({ database }: Deployment): string {
  return database ?? 'none, all is forgotten at the end';
}

function domainOf({ chain, environment, book }: Deployment): string {
  const staging = environment === 'staging' ? ', staging' : '';
  return `${chain} (${book.chainId})${staging}, settlement contract ${book.settlementContract}`;
}
