/** The pages of the site by section: the title in the navigation, and the path without its extension. */
export const NAVIGATION: readonly { readonly title: string; readonly pages: readonly (readonly [string, string])[] }[] =
  [
    {
      title: 'Introduction',
      pages: [
        ['Getting started', 'getting-started'],
        ['Migration', 'migration'],
        ['Compatibility', 'compatibility'],
      ],
    },
    {
      title: 'Guides',
      pages: [
        ['Orders', 'guides/orders'],
        ['Validation', 'guides/validation'],
        ['Quotes', 'guides/quotes'],
        ['Chain indexing', 'guides/chain-indexing'],
        ['In front of CoW Protocol', 'guides/upstream'],
        ['Auctions', 'guides/auctions'],
        ['Market data', 'guides/market-data'],
        ['Events and streams', 'guides/events-and-streams'],
        ['Notifications', 'guides/notifications'],
        ['Affiliate codes and prices', 'guides/affiliates-and-prices'],
        ['History and export', 'guides/history-and-export'],
        ['Rate limiting', 'guides/rate-limiting'],
        ['Frameworks', 'guides/frameworks'],
        ['Explorer', 'guides/explorer'],
        ['Sandbox', 'guides/sandbox'],
        ['Transactions', 'guides/transactions'],
      ],
    },
    {
      title: 'Deployment',
      pages: [
        ['Server', 'deploy/server'],
        ['Configuration', 'deploy/configuration'],
        ['PostgreSQL', 'deploy/postgresql'],
        ['Growth', 'deploy/growth'],
        ['Operations', 'deploy/operations'],
        ['Retention', 'deploy/retention'],
      ],
    },
    {
      title: 'Reference',
      pages: [
        ['Options', 'reference/options'],
        ['Errors', 'reference/errors'],
        ['Events', 'reference/events'],
        ['Metrics', 'reference/metrics'],
        ['HTTP', 'reference/http'],
        ['Costs', 'reference/costs'],
        ['Speed', 'reference/speed'],
        ['Command line', 'reference/cli'],
      ],
    },
    {
      title: 'Extending',
      pages: [
        ['Store', 'extending/store'],
        ['Chain client', 'extending/chain'],
        ['Estimator', 'extending/estimator'],
        ['Driver', 'extending/driver'],
        ['Notification channel', 'extending/channel'],
        ['Rate limiter', 'extending/limiter'],
      ],
    },
    {
      title: 'Internals',
      pages: [
        ['Architecture', 'internals/architecture'],
        ['Decisions', 'internals/decisions'],
        ['Glossary', 'internals/glossary'],
        ['Benchmarks', 'internals/benchmarks'],
        ['Testing', 'internals/testing'],
        ['Simulation', 'internals/simulation'],
        ['Threat model', 'internals/threat-model'],
        ['Field reports', 'internals/field-reports'],
      ],
    },
  ];
