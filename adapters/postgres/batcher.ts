/** Requests of one batch at most. */
const MAX_BATCH_SIZE = 128;

/** Ticks of the event loop in which a batch collects requests. Each further batch is a further statement. */
const MAX_TICKS = 4;

/** Batches that run at the same time. A second one uses the time in which the first waits for the server. */
const MAX_BATCHES = 2;

interface Pending<Request, Result> {
  readonly request: Request;
  readonly resolve: (result: Result) => void;
  readonly reject: (failure: unknown) => void;
}

/**
 * Creates a function that runs concurrent requests in batches. A batch collects requests until a tick of the event loop
 * brings none, in at most four ticks. It waits for a running batch if there are two. If a batch fails, each of its
 * requests fails.
 *
 * @param run - Returns one result per request, in the order of the requests.
 */
export function createBatcher<Request, Result>(
  run: (requests: readonly Request[]) => Promise<readonly Result[]>,
): (request: Request) => Promise<Result> {
  let queue: Pending<Request, Result>[] = [];
  let running = 0;
  let scheduled = false;

  function schedule(): void {
    if (scheduled || running === MAX_BATCHES || queue.length === 0) return;
    scheduled = true;
    setImmediate(() => collect(1, 0));
  }

  /** Starts a batch, or continues to collect in the next tick. @param size - Number of requests before this tick. */
  function collect(ticks: number, size: number): void {
    if (ticks < MAX_TICKS && queue.length > size && queue.length < MAX_BATCH_SIZE) {
      const collected = queue.length;
      setImmediate(() => collect(ticks + 1, collected));
      return;
    }
    scheduled = false;
    void start();
  }

  async function start(): Promise<void> {
    const batch = queue.slice(0, MAX_BATCH_SIZE);
    queue = queue.slice(MAX_BATCH_SIZE);
    running++;
    schedule();
    try {
      const results = await run(batch.map(({ request }) => request));
      for (const [i, { resolve }] of batch.entries()) resolve(results[i] as Result); // one per request
    } catch (failure) {
      for (const { reject } of batch) reject(failure);
    } finally {
      running--;
      schedule();
    }
  }

  return (request) =>
    new Promise((resolve, reject) => {
      queue.push({ request, resolve, reject });
      schedule();
    });
}
