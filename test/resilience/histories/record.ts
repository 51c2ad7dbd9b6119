import type { HistoryEntry } from 'intentbook/testing';
import { checkLinearizability } from 'intentbook/testing';
import type { Cluster } from './cluster.ts';
import type { Call, Owner } from './owner.ts';
import { createOwner, OWNER_MODEL, showList } from './owner.ts';

/** Maximum time of a request in milliseconds. A later response has an unknown outcome. */
const TIMEOUT = 30_000;

/** Number of histories that are recorded concurrently. */
const WORKERS = 16;

const OPS = ['submit', 'submit', 'cancel', 'read', 'list'] as const;

/** Totals of the histories that were checked. */
export interface HistoryTotals {
  histories: number;
  /** Histories during which a fault was in effect. */
  disturbed: number;
  calls: number;
  unknown: number;
  failed: number;
}

/** Records histories of concurrent clients during faults until a time or a number, and checks each. */
export async function checkHistories(
  cluster: Cluster,
  random: () => number,
  until: { readonly time?: number; readonly count?: number },
  onFault: (name: string) => void,
): Promise<HistoryTotals> {
  const totals = { histories: 0, disturbed: 0, calls: 0, unknown: 0, failed: 0 };
  const { time = Number.POSITIVE_INFINITY, count = Number.POSITIVE_INFINITY } = until;
  let begun = 0;
  const isOver = () => Date.now() >= time || begun >= count;
  let faults = 0;
  let isFaulty = false;
  let isStopped = false;

  const first = Math.floor(random() * 1_000_000_000);
  const worker = async () => {
    while (!isOver()) {
      const owner = await createOwner(first + begun++);
      const before = faults;
      const wasFaulty = isFaulty;
      const history = await recordHistory(cluster, owner, random);
      const result = checkLinearizability(OWNER_MODEL, history);
      if (result.status !== 'linearizable') throw new Error(`a history is ${result.status}: ${JSON.stringify(result)}`);
      totals.histories++;
      if (wasFaulty || faults > before) totals.disturbed++;
      totals.calls += history.length;
      totals.unknown += history.filter(({ output }) => output === undefined).length;
      totals.failed += history.filter(({ output }) => output === 'failed').length;
    }
  };
  const disturb = async () => {
    while (!isStopped) {
      isFaulty = true;
      faults++;
      onFault(await cluster.disturb(random));
      isFaulty = false;
      await new Promise((resolve) => setTimeout(resolve, random() * 100));
    }
  };
  const disturbing = disturb();
  try {
    await Promise.all(Array.from({ length: WORKERS }, worker));
  } finally {
    isStopped = true;
    await disturbing;
  }
  return totals;
}

/** Records the calls of three to five clients on the orders of one owner. */
async function recordHistory(cluster: Cluster, owner: Owner, random: () => number) {
  const history: HistoryEntry<Call, string>[] = [];
  let time = 0;
  const integer = (max: number) => Math.floor(random() * max);
  const plans = Array.from({ length: 3 + integer(3) }, () =>
    Array.from({ length: 3 + integer(5) }, (): [number, Call] => [
      integer(cluster.size),
      { op: OPS[integer(OPS.length)] ?? 'read', order: integer(owner.uids.length) },
    ]),
  );
  await Promise.all(
    plans.map(async (calls) => {
      for (const [server, input] of calls) {
        const start = ++time;
        const output = await send(cluster.urlOf(server), owner, input);
        const isRead = input.op === 'read' || input.op === 'list';
        if (output !== undefined) history.push({ input, output, start, end: ++time });
        else if (!isRead) history.push({ input, start });
      }
    }),
  );
  return history;
}

/** Sends a call. Returns `undefined` if its outcome is unknown. */
async function send(url: string, owner: Owner, { op, order }: Call): Promise<string | undefined> {
  const uid = owner.uids[order];
  const requests = {
    submit: () => request(`${url}/api/v1/orders`, 'POST', owner.orders[order]),
    cancel: () => request(`${url}/api/v1/orders`, 'DELETE', owner.cancellations[order]),
    read: () => request(`${url}/api/v1/orders/${uid}`, 'GET'),
    list: () => request(`${url}/api/v1/account/${owner.address}/orders?limit=20`, 'GET'),
  };
  const response = await requests[op]();
  if (response === undefined) return undefined;
  const { status, body } = response;
  const { errorType } = body as { errorType?: string };
  if (errorType === 'OutcomeUnknown') return undefined;
  if (status >= 500) {
    if (errorType !== 'InternalServerError') throw new Error(`unexpected response: ${JSON.stringify(body)}`);
    return 'failed';
  }
  if (op === 'read') return status === 404 ? 'none' : (body as { status: string }).status;
  if (op === 'list') {
    return showList(
      (body as { uid: string; status: string }[]).map((each) => [owner.uids.indexOf(each.uid), each.status]),
    );
  }
  return errorType ?? (op === 'submit' ? 'accepted' : 'cancelled');
}

/** Returns the response, or `undefined` if none has arrived. */
async function request(url: string, method: string, body?: object) {
  try {
    const response = await fetch(url, {
      method,
      signal: AbortSignal.timeout(TIMEOUT),
      ...(body === undefined ? {} : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
    });
    return { status: response.status, body: JSON.parse(await response.text()) as unknown };
  } catch {
    return undefined; // the server was killed
  }
}
