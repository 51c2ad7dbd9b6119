import type { Sandbox } from './sandbox-types.ts';

/** The front ends whose variables the command prints. */
export const FRONT_ENDS = ['cowswap', 'cow-explorer'] as const;

/** A front end of production. */
export type FrontEnd = (typeof FRONT_ENDS)[number];

/**
 * Returns the environment variables with which a front end of production uses a sandbox, as the lines of an `.env`
 * file.
 */
export function formatFrontEndEnv(frontEnd: FrontEnd, { url, rpcUrl, chainId }: Sandbox): string {
  const variables = [
    `REACT_APP_ORDER_BOOK_URLS={"${chainId}":"${url}"}`,
    `REACT_APP_NETWORK_URL_${chainId}=${rpcUrl}`,
    `REACT_APP_BFF_BASE_URL=${url}`,
    `REACT_APP_CMS_BASE_URL=${url}`,
  ];
  const lines =
    frontEnd === 'cowswap'
      ? [
          ...variables,
          `REACT_APP_BALANCES_WATCHER_BASE_URL=${url}`,
          `REACT_APP_EXPLORER_URL_PROD="${url}/#"`, // without quotes, the rest would be a comment
          'REACT_APP_ENVIRONMENT=production',
        ]
      : [
          '# CoW Explorer reads production and staging from this URL and shows each trade twice: see the guide.',
          ...variables,
        ];
  return `${lines.join('\n')}\n`;
}
