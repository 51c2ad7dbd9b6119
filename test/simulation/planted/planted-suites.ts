/** A fault outside of the simulator, which a file of tests finds. */
export interface SuiteFault {
  readonly name: string;
  readonly file: string;
  /** Text that occurs once in the file. */
  readonly find: string;
  readonly replace: string;
  /** The file whose tests fail. */
  readonly suite: string;
}

const SOURCE = 'adapters/viem/chain-source.ts';
const SOURCE_SUITE = 'test/unit/adapters/viem/chain-source.test.ts';
const STREAM = 'adapters/client/event-stream.ts';
const STREAM_SUITE = 'test/integration/client/event-stream.test.ts';
const SERVER = 'apps/server/http/hardened-server.ts';
const SERVER_SUITE = 'test/integration/server/http.test.ts';
const PUSH = 'adapters/channels/web-push.ts';
const PUSH_SUITE = 'test/integration/channels/web-push.test.ts';

const DISPATCHER = 'src/notifications/delivery-dispatcher.ts';
const DISPATCHER_SUITE = 'test/unit/notifications/delivery-dispatcher.test.ts';
const ATTEMPTS_SUITE = 'test/unit/accounts/delivery-attempts.test.ts';
const CLAIMS_SUITE = 'test/integration/stores/delivery-claims.test.ts';
const INVITATIONS_SUITE = 'test/unit/accounts/invitations.test.ts';

/** Faults by which an account, a client or a service that fails takes the share of others. */
const FAIRNESS_FAULTS: readonly SuiteFault[] = [
  {
    name: 'the lanes of a claim are found among all subscriptions',
    file: 'adapters/sqlite/accounts/deliveries.ts',
    find: 'AND channel = l.channel ',
    replace: 'AND channel || 0 = l.channel || 0 ',
    suite: CLAIMS_SUITE,
  },
  {
    name: 'the first attempt to a new host has the whole timeout',
    file: DISPATCHER,
    find: 'delivery.attempt === 1 && !delivery.isReliable',
    replace: 'false',
    suite: DISPATCHER_SUITE,
  },
  {
    name: 'a subscription that fails is never suspended',
    file: DISPATCHER,
    find: 'clock.now() - failingSince >= SUSPENSION',
    replace: 'clock.now() - failingSince >= 1_000 * SUSPENSION',
    suite: ATTEMPTS_SUITE,
  },
  {
    name: 'the client of an invitation is not known',
    file: 'src/http/account-routes/subscriptions.ts',
    find: 'work.client?.()',
    replace: 'undefined',
    suite: INVITATIONS_SUITE,
  },
];

/** Faults of what connects a book with other systems: the classes of the field reports. */
export const SUITE_FAULTS: readonly SuiteFault[] = [
  ...FAIRNESS_FAULTS,
  {
    name: 'a header without a valid filter is an error',
    file: SOURCE,
    find: '...(bloom === undefined ? {} : { logsBloom: bloom }),',
    replace: '...(logsBloom == null ? {} : { logsBloom: parseHexResult(logsBloom, 256) }),',
    suite: SOURCE_SUITE,
  },
  {
    name: 'the time 0 of a log is used',
    file: SOURCE,
    find: '/^0x[1-9a-f][0-9a-f]{0,12}$/i',
    replace: '/^0x[0-9a-f]{1,13}$/i',
    suite: SOURCE_SUITE,
  },
  {
    name: 'null is the error of a traced call',
    file: SOURCE,
    find: 'if (error !== undefined && error !== null) return;',
    replace: 'if (error !== undefined) return;',
    suite: SOURCE_SUITE,
  },
  {
    name: 'a block time in milliseconds is accepted',
    file: SOURCE,
    find: 'if (time > MAX_TIME) throw',
    replace: 'if (time > 1e300) throw',
    suite: SOURCE_SUITE,
  },
  {
    name: 'the logs of a removed block are returned',
    file: SOURCE,
    find: "if (log['removed'] === true) return [];",
    replace: '',
    suite: SOURCE_SUITE,
  },
  {
    name: 'null is the error of a simulated call',
    file: 'adapters/viem/simulation.ts',
    find: "record(error ?? {})['data'] ?? returnData",
    replace: "(error === undefined ? returnData : record(error)['data'] ?? returnData)",
    suite: 'test/unit/adapters/viem/simulation.test.ts',
  },
  {
    name: 'an empty id of a stream is the position 0',
    file: STREAM,
    find: '/^\\d{1,15}$/.test(id) ? Number(id) : undefined',
    replace: "fields.has('id') ? Number(id) : undefined",
    suite: STREAM_SUITE,
  },
  {
    name: 'a line separator of Unicode ends a value',
    file: STREAM,
    find: '/^([^:]+):? ?(.*)$/s',
    replace: '/^([^:]+):? ?(.*)$/',
    suite: STREAM_SUITE,
  },
  {
    name: 'several Host headers are accepted',
    file: SERVER,
    find: 'if (name !== undefined && found.has(name)) return',
    replace: 'if (name !== undefined && found.size > 99) return',
    suite: SERVER_SUITE,
  },
  {
    name: 'invalid bytes end a request that is complete',
    file: SERVER,
    find: 'if (last !== undefined && responses.every(',
    replace: 'if (last !== undefined && responses.length > 99 && responses.every(',
    suite: SERVER_SUITE,
  },
  {
    name: 'a request that has its response receives another',
    file: SERVER,
    find: 'requests.get(socket)?.complete === false',
    replace: 'requests.get(socket)?.complete === undefined',
    suite: SERVER_SUITE,
  },
  {
    name: 'failed attempts at several addresses have no reason',
    file: 'src/validation/error-text.ts',
    find: 'cause ?? Object(errors)[0]',
    replace: 'cause',
    suite: 'test/unit/validation/error-text.test.ts',
  },
  {
    name: 'a VAPID subject of the local network is accepted',
    file: PUSH,
    find: '/\\.(local|localhost)$/i',
    replace: '/\\.(onion)$/i',
    suite: PUSH_SUITE,
  },
  {
    name: 'a VAPID key of another pair is accepted',
    file: PUSH,
    find: 'if (getPublicKey(privateKey) !== trimPadding(publicKey))',
    replace: 'if (getPublicKey(privateKey) === undefined)',
    suite: PUSH_SUITE,
  },
  {
    name: 'the driver of SQLite needs a working directory',
    file: 'adapters/sqlite/database-driver.ts',
    find: 'for (const from of [() => import.meta.url,',
    replace: 'for (const from of [((folder: string) => () => folder)(process.cwd()), () => import.meta.url,',
    suite: 'test/integration/stores/sqlite-driver.test.ts',
  },
  {
    name: 'a link in a header of a mail begins on the second line',
    file: 'adapters/channels/email.ts',
    find: 'const link = { prepared: true,',
    replace: 'const link = { prepared: false as never,',
    suite: 'test/integration/channels/email.test.ts',
  },
  {
    name: 'a time without a zone is local',
    file: 'src/concurrency/service-fetch.ts',
    find: "text.endsWith('GMT') ? text : ",
    replace: "text !== '' ? text : ",
    suite: 'test/integration/channels/webhook.test.ts',
  },
  {
    name: 'a service receives requests in the time that it requires',
    file: 'src/concurrency/service-fetch.ts',
    find: 'if (left > 0) throw',
    replace: 'if (left > 9e9) throw',
    suite: 'test/unit/concurrency/service-fetch.test.ts',
  },
  {
    name: 'a response without a required time ends a pause',
    file: 'src/concurrency/service-fetch.ts',
    find: 'Math.max(pauses.get(host) ?? 0, readMonotonic(clock) + delay)',
    replace: 'readMonotonic(clock) + delay',
    suite: 'test/unit/concurrency/service-fetch.test.ts',
  },
  {
    name: 'messages that JetStream drops as repetitions count as published',
    file: 'adapters/nats/index.ts',
    find: 'if (outcome.value.seq !== at.sequence + i + 1)',
    replace: 'if (outcome.value.seq > at.sequence + messages.length)',
    suite: 'test/integration/nats/publisher.test.ts',
  },
  {
    name: 'the time between polls is ignored',
    file: 'adapters/channels/telegram.ts',
    find: 'Math.min(Number(parameters?.retry_after) * 1000 || 0, MAX_RETRY_DELAY)',
    replace: '0 * MAX_RETRY_DELAY * Number(parameters === undefined)',
    suite: 'test/integration/channels/telegram.test.ts',
  },
  {
    name: 'an empty element of a list is a coding',
    file: 'src/http/message.ts',
    find: "!['', 'identity'].includes(coding",
    replace: "!['identity'].includes(coding",
    suite: 'test/unit/http/body.test.ts',
  },
  {
    name: 'the weights of media types are ignored',
    file: 'src/http/accept.ts',
    find: 'return weight > 0 && weight >= json;',
    replace: 'return weights.has(type) || weight > json;',
    suite: 'test/unit/http/accept.test.ts',
  },
  {
    name: 'one node reads each block a second time',
    file: 'src/chain/second-read.ts',
    find: 'newest > to && (',
    replace: 'newest > Math.max(to, repeatedTo ?? to) && (',
    suite: 'test/unit/chain/indexer-forks.test.ts',
  },
  {
    name: 'a node that fails does not read its blocks later',
    file: 'src/chain/second-read.ts',
    find: '{ ...progress, attemptedTo: newest }',
    replace: '{ to: newest, attemptedTo: newest }',
    suite: 'test/unit/chain/indexer-forks.test.ts',
  },
  {
    name: 'a head counts although none of several nodes responds',
    file: 'src/chain/chain-head.ts',
    find: ' || found.length === 0) return',
    replace: ') return',
    suite: 'test/unit/chain/chain-head.test.ts',
  },
  {
    name: 'a block of another fork is as new as the indexed one',
    file: 'src/chain/chain-head.ts',
    find: 'block.hash === indexed.hash ? timestamp - block.timestamp : Infinity',
    replace: 'timestamp - block.timestamp',
    suite: 'test/unit/auctions/drivers/settlements.test.ts',
  },
  {
    name: 'a node that stands still on a fork undoes blocks of another node',
    file: 'src/chain/fork-search.ts',
    find: 'if (await isHeldElsewhere(node, indexedBlock))',
    replace: 'if (Number.isNaN(indexedBlock.number) && (await isHeldElsewhere(node, indexedBlock)))',
    suite: 'test/unit/chain/indexer-forks.test.ts',
  },
  {
    name: 'a client with many connections delays the requests of others',
    file: 'src/http/limiter-guard.ts',
    find: 'turns.acquire(() => client);',
    replace: 'turns.acquire();',
    suite: 'test/unit/http/limiter-guard.test.ts',
  },
  {
    name: 'a client has any number of reads at the same time',
    file: 'src/http/limiter-guard.ts',
    find: 'response = await storeReads.run(run, client);',
    replace: 'response = await storeReads.run(run, String(Math.random()));',
    suite: 'test/unit/http/limiter-guard.test.ts',
  },
  {
    name: 'the parts of files take no turns',
    file: 'src/http/limiter-guard.ts',
    find: '...(stream ? {} : { run: (read) => longReads.run(read, client) }),',
    replace: '',
    suite: 'test/unit/http/limiter-guard.test.ts',
  },
  {
    name: 'the rest of rejected bodies is read at once',
    file: 'adapters/node-http/respond.ts',
    find: 'await waitForDiscard();',
    replace: '',
    suite: 'test/integration/http/node-http.test.ts',
  },
  {
    name: 'a log that is read again is corrected again',
    file: 'src/notifications/notification-rules.ts',
    find: 'if (!revertedNotifications || isRepeated || !isCorrectable(event)) return;',
    replace: 'if (!revertedNotifications || !isCorrectable(event)) return;',
    suite: 'test/unit/notifications/repeated-log.test.ts',
  },
  {
    name: 'presignatures of a log that is read again are added to the old ones',
    file: 'src/notifications/notification-indexer.ts',
    find: "if (event.type === 'presigned') presigned.add(event.uid);",
    replace: '',
    suite: 'test/unit/notifications/repeated-log.test.ts',
  },
  {
    name: 'a log that is read again creates what retention has deleted',
    file: 'src/notifications/notification-indexer.ts',
    find: 'const pruned = isRepeated ? await readPrunedBefore(store) : 0;',
    replace: 'const pruned = isRepeated && store === undefined ? await readPrunedBefore(store) : 0;',
    suite: 'test/unit/notifications/repeated-log.test.ts',
  },
  {
    name: 'a file of payouts is read while it is written',
    file: 'apps/server/books/affiliate-payouts.ts',
    find: 'performance.now() - seen.at < steadyTime',
    replace: 'performance.now() - seen.at < 0 * steadyTime',
    suite: 'test/integration/server/affiliate-payouts.test.ts',
  },
  {
    name: 'a call that its caller ends pauses the upstream',
    file: 'adapters/upstream/connection.ts',
    find: "if (verdict.isCancelled) return 'cancelled';",
    replace: '',
    suite: 'test/unit/adapters/upstream/pause.test.ts',
  },
  {
    name: 'a stream that resumes by its query pays for one row',
    file: 'src/http/cost.ts',
    find: "request.header('last-event-id') || query.get(LAST_EVENT_ID) ?",
    replace: "request.header('last-event-id') || query.get(LAST_EVENT_ID) === '' ?",
    suite: 'test/integration/http/costs.test.ts',
  },
  {
    name: 'each keep-alive waits for the next event',
    file: 'src/http/sse.ts',
    find: 'if (isSettled) resolve();',
    replace: 'if (isSettled) resolve();\n        void pending?.then(resolve, resolve);',
    suite: 'test/unit/http/sse.test.ts',
  },
  {
    name: 'a stream of HTTP/2 that was reset counts as sent',
    file: 'adapters/node-http/respond.ts',
    find: 'return writableFinished && writableEnded;',
    replace: 'return writableFinished || writableEnded;',
    suite: 'test/integration/http/node-http.test.ts',
  },
  {
    name: 'a file ends with its server',
    file: 'src/http/open-streams.ts',
    find: "if (!isEndless || typeof body !== 'object'",
    replace: "if (typeof body !== 'object'",
    suite: 'test/integration/server/streams.test.ts',
  },
  {
    name: 'a search before an epoch of the log ends',
    file: 'src/http/order-report.ts',
    find: 'last = await findLastEntry(start, log);',
    replace: 'last = 0 * (await findLastEntry(start, log));',
    suite: 'test/integration/http/order-report.test.ts',
  },
  {
    name: 'skipped trades are counted at the end only',
    file: 'src/chain/trade-api.ts',
    find: 'countRows(options, SKIPPED_PAGE / SKIPPED_PER_ROW);',
    replace: '',
    suite: 'test/integration/http/costs.test.ts',
  },
  {
    name: 'a fill does not prove the signature of an order',
    file: 'src/records/project-order.ts',
    find: "(event) => event.type === 'trade' || (event.type === 'presignature'",
    replace: "(event) => (event.type === 'presignature'",
    suite: 'test/integration/stores/memory.test.ts',
  },
  {
    name: 'the time of a quote counts as that of the insert',
    file: 'src/orders/submit.ts',
    find: 'const since = readMonotonic(context.clock);',
    replace: 'const since = readMonotonic(context.clock) - 6_000;',
    suite: 'test/unit/quotes/quoting-at-submission.test.ts',
  },
];
