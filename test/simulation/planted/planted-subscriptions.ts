import type { PlantedFault } from './planted.ts';

/** Faults of subscriptions. */
export const PLANTED_SUBSCRIPTIONS: readonly PlantedFault[] = [
  {
    name: 'a signed request for a subscription can be repeated',
    area: 'subscriptions',
    store: 'memory',
    file: 'adapters/memory/account-store.ts',
    find: "    if (nonces.has(toKey(nonce))) return { status: 'used' };\n",
    replace: '',
  },
  {
    name: 'a nonce is deleted as soon as its signature has expired',
    area: 'subscriptions',
    store: 'memory',
    file: 'src/notifications/subscriptions.ts',
    find: ' + NONCE_MARGIN',
    replace: '',
  },
  {
    name: 'a removed subscription receives pending notifications',
    area: 'subscriptions',
    store: 'memory',
    file: 'adapters/memory/account-store.ts',
    find: '    deliveries.remove(id);\n',
    replace: '',
  },
  {
    name: 'only one subscription of an account receives a notification',
    area: 'subscriptions',
    store: 'shared',
    file: 'adapters/memory/account-store.ts',
    find: "if (isSubscribed && isRecent && subscription.state === 'active')",
    replace:
      "if (isSubscribed && !deliveries.list({ state: 'pending', limit: 1e6 }).some((each) => each.notification === id))",
  },
  {
    name: 'a subscription receives all types of notifications',
    area: 'subscriptions',
    store: 'memory',
    file: 'adapters/memory/account-store.ts',
    find: 'subscription.account === row.account && subscription.types.includes(row.type);',
    replace: 'subscription.account === row.account;',
  },
  {
    name: 'a target that is gone loses the other subscriptions of its account',
    area: 'subscriptions',
    store: 'memory',
    file: 'src/notifications/delivery-dispatcher.ts',
    find: 'await store.subscriptions.remove({ id: subscription.id, account: subscription.account });',
    replace:
      'for (const { id } of await store.subscriptions.list(subscription.account)) await store.subscriptions.remove({ id, account: subscription.account });',
  },
];
