import type { Api, ApiResponse } from 'intentbook';

/** An interface whose streams can be ended. */
export interface ClosableApi extends Api {
  /** Ends all open streams and every later one. */
  closeStreams(): void;
  /** Number of open streams. */
  readonly openStreams: number;
}

const END = { done: true, value: undefined } as const;

/** Tracks the streams of an interface, so that a server can stop without waiting for them. */
export function closableStreams(api: Api): ClosableApi {
  const open = new Set<() => void>();
  let closed = false;

  function closable(source: AsyncIterator<string>): AsyncIterator<string> {
    let ended = closed;
    let wake = () => {};
    const close = () => {
      ended = true;
      open.delete(close);
      wake();
      Promise.resolve(source.return?.()).catch(() => {}); // the client has disconnected
    };
    if (ended) close();
    else open.add(close);
    return {
      next: () =>
        new Promise((resolve, reject) => {
          if (ended) return resolve(END);
          wake = () => resolve(END);
          source.next().then((result) => {
            if (result.done) open.delete(close);
            resolve(result);
          }, reject);
        }),
      async return() {
        open.delete(close);
        await source.return?.();
        return END;
      },
    };
  }

  return {
    ...(api.handlesPath === undefined ? {} : { handlesPath: api.handlesPath }),
    get openStreams() {
      return open.size;
    },
    closeStreams() {
      closed = true;
      for (const close of [...open]) close();
    },
    async handle(request) {
      const response: ApiResponse = await api.handle(request);
      const { body } = response;
      if (typeof body !== 'object' || !(Symbol.asyncIterator in body)) return response;
      return { ...response, body: { [Symbol.asyncIterator]: () => closable(body[Symbol.asyncIterator]()) } };
    },
  };
}
