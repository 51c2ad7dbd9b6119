import { lazy } from '../concurrency/lazy.ts';
import type { StreamLimits } from '../limits/index.ts';
import type { Hex } from '../protocol/hex.ts';
import type { EventLog } from '../records/event-log.ts';
import type { Verifier } from '../verification/index.ts';
import type { AdmissionContext } from './admission.ts';
import type { OrderCache } from './cache.ts';
import type { ExpirySweepContext } from './expiry.ts';
import { createSubmissionQueue } from './group-commit.ts';
import { createOrderApi, type OrderApiContext } from './order-api.ts';
import { readOrders } from './read.ts';
import { getMaxDuration, prepareSubmissions } from './submit.ts';

/** The parsed options of a book that its orders need, and what the book provides to them. */
export interface OrdersContext
  extends Omit<AdmissionContext, 'verifier' | 'submissions' | 'pending'>,
    Pick<
      ExpirySweepContext,
      'expiryGrace' | 'retention' | 'getBlockTime' | 'isCatchingUp' | 'pruneObserver' | 'holder' | 'wake'
    >,
    Pick<OrderApiContext, 'competitionStatus' | 'onSubmitted'> {
  /** The cache of rendered orders, if the book has one. */
  readonly cache: OrderCache | undefined;
  /** Milliseconds between two sweeps for expired orders. `undefined`: this process does not sweep. */
  readonly expiryInterval: number | undefined;
  /** Limits of order streams. */
  readonly streams: Required<StreamLimits>;
  readonly log: EventLog;
  /** Returns the verifier of a started book. Throws a `StoreError` otherwise. */
  readonly assertStarted: () => Verifier;
  /** Observes an insert and returns it. */
  readonly observeInsert: <T>(insert: Promise<T>) => Promise<T>;
  /** Called after rows were deleted that the log does not show. */
  readonly onPruned: () => void;
}

export function createOrders(context: OrdersContext) {
  const { store, clock, onFailure, cache, log, assertStarted, wake } = context;
  const reading = { store, clock, onFailure, ...(cache && { cache }) };
  const submissions = createSubmissionQueue(store, clock, { onLateEnd: wake, observeInsert: context.observeInsert });
  const withoutVerifier: Omit<AdmissionContext, 'verifier'> = {
    ...context,
    submissions,
    pending: lazy(async () => (await import('./pending-orders.ts')).createPendingOrders(context)),
  };
  let started: AdmissionContext | undefined;

  /** Returns the context of submissions. It changes only when the book is started again. */
  function admission(): AdmissionContext {
    const verifier = assertStarted();
    if (started?.verifier !== verifier) started = { ...withoutVerifier, verifier };
    return started;
  }

  const streams = lazy(async () => {
    const { createOrderStreams } = await import('../streams/index.ts');
    const { filterPlaced } = store.orders;
    const reads = { read: (uids: readonly Hex[]) => readOrders(uids, reading), filterPlaced };
    return createOrderStreams(log, reads, { ...context.streams, onFailure });
  });

  const expiry = lazy(async () =>
    (await import('./expiry.ts')).createExpirySweep({
      ...context,
      interval: context.expiryInterval,
      bypassCache() {
        const resume = cache?.pause(); // the log has no entries for deleted data
        return (isChanged) => {
          resume?.(isChanged);
          if (isChanged) context.onPruned();
        };
      },
    }),
  );

  return {
    methods: createOrderApi({ ...context, reading, streams, admission }),
    /** Loads what most submissions and the sweep need. */
    async prepare(): Promise<void> {
      await Promise.all([expiry.load(), prepareSubmissions(context)]);
    },
    start: (): void => expiry.loaded?.start(),
    /** Ends the sweep and all streams. Submissions go on. */
    async stop(): Promise<void> {
      await expiry.loaded?.stop();
      streams.loaded?.close();
    },
    /** Waits until all submissions have ended. */
    drained: (): Promise<void> => submissions.drained(getMaxDuration(context)),
  };
}
