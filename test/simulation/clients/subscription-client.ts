import { AccountError } from 'intentbook/accounts';
import type { ReadCheck } from '../checks/read-check.ts';
import type { Report } from '../checks/store-observer.ts';
import type { SubscriptionCheck } from '../checks/subscription-check.ts';
import { getFurtherTarget, TYPES } from '../checks/subscription-check.ts';
import type { BookProcess } from '../machine/book-process.ts';
import { START } from '../machine/process.ts';
import type { Pool, SubscriptionTerms } from '../orders/pool.ts';
import type { Operation } from '../plan/plan.ts';

/** An operation on the subscriptions of an account. */
export type SubscriptionOperation = Extract<Operation, { kind: 'subscribe' | 'unsubscribe' | 'subscriptions' }>;

/** Owners that subscribe and unsubscribe webhooks, and repeat signed requests. */
export interface SubscriptionClient {
  run(operation: SubscriptionOperation, at: BookProcess): Promise<string>;
}

export interface SubscriptionClientContext {
  readonly pool: Pool;
  readonly check: SubscriptionCheck;
  readonly reads: ReadCheck;
  readonly report: Report;
}

/** Seconds after the start at which signatures expire, by nonce. Clocks are up to two hours ahead. */
const DEADLINES = [120, 3_000, 40_000] as const;

/** Seconds after which the signature of a list expires, and the most that a process accepts. */
const LIST_VALIDITY = 200;
const MAX_LIST_VALIDITY = 300;

/** The audience of signatures that list subscriptions, by default. */
const AUDIENCE = 'Service Affiliate';

export function createSubscriptionClient(context: SubscriptionClientContext): SubscriptionClient {
  const { pool, check, reads, report } = context;

  /** Returns the end of a signature. That of a list is soon after the time of the process. */
  const getDeadline = (operation: SubscriptionOperation, { process }: BookProcess) =>
    operation.kind === 'subscriptions'
      ? Math.floor(process.clock.now() / 1000) + LIST_VALIDITY
      : START + (DEADLINES[operation.proof % DEADLINES.length] ?? 0);

  function sign(
    owner: number,
    terms: Pick<SubscriptionTerms, 'channel' | 'target' | 'types'>,
    proof: number,
    deadline: number,
  ) {
    const nonce = String(proof);
    return { nonce, deadline, signature: pool.subscribe({ ...terms, nonce, deadline }, owner) };
  }

  async function perform(
    operation: SubscriptionOperation,
    { accounts }: BookProcess,
    deadline: number,
  ): Promise<string> {
    const { owner } = operation;
    const account = pool.owners[owner] ?? '';
    switch (operation.kind) {
      case 'subscribe': {
        const types = operation.proof % 2 === 0 ? TYPES : (['order_filled', 'order_expired'] as const);
        const terms = { channel: 'webhook', target: getFurtherTarget(owner), types };
        const { id } = await accounts.subscriptions.create(account, {
          ...terms,
          ...sign(owner, terms, operation.proof, deadline),
        });
        if (!check.has(id)) report('acknowledged', `the subscription ${id} was not stored by this call`);
        return 'created';
      }
      case 'unsubscribe': {
        const [first] = check.listFurther(account);
        const id = first?.id ?? '0'.repeat(32);
        const proof = sign(owner, { channel: '', target: id, types: [] }, operation.proof, deadline);
        await accounts.subscriptions.remove(account, id, proof);
        if (check.listFurther(account).some((each) => each.id === id))
          report('acknowledged', `the subscription ${id} is removed, but exists`);
        return 'removed';
      }
      case 'subscriptions': {
        const since = check.changes;
        const proof = sign(owner, { channel: '', target: AUDIENCE, types: [] }, 2, deadline);
        const list = await accounts.subscriptions.list(account, proof);
        const ids = list.map(({ id }) => id);
        check.checkList(account, ids, since);
        return String(ids.length);
      }
    }
  }

  return {
    async run(operation, at) {
      const end = reads.mark(at.process);
      const deadline = getDeadline(operation, at);
      try {
        return await perform(operation, at, deadline);
      } catch (failure) {
        if (!(failure instanceof AccountError)) throw failure;
        const { earliest, latest } = end();
        const nonce = 'proof' in operation ? operation.proof : 2;
        const account = pool.owners[operation.owner] ?? '';
        const isExplained = {
          400: operation.kind === 'subscriptions' && deadline > earliest + MAX_LIST_VALIDITY,
          401: latest > deadline,
          404: operation.kind === 'unsubscribe',
          409: check.isUsed(account, String(nonce)),
        }[failure.status as number];
        if (isExplained !== true) report('subscriptions', `${operation.kind}: ${failure.status} ${failure.message}`);
        return String(failure.status);
      }
    },
  };
}
