import { OrderBookError } from '../errors.ts';
import type { Address } from '../protocol/hex.ts';
import { ZERO_ADDRESS } from '../protocol/hex.ts';
import type { AdmissionContext, PolicyContext } from './admission.ts';
import type { Terms } from './checks.ts';

/** What asking the host takes. */
export type PolicyCheckContext = Pick<AdmissionContext, 'host' | 'remote' | 'onFailure'>;

/**
 * Neither the owner nor the receiver is denied by the host. A null or zero receiver is the owner; the owner of a quote
 * may be nobody yet, the zero address, who is not asked about.
 */
export async function checkDenyList(
  { owner, data }: Pick<Terms, 'owner' | 'data'>,
  context: PolicyCheckContext,
): Promise<OrderBookError | undefined> {
  const { isDenied } = context.host;
  if (isDenied === undefined) return undefined;
  const { receiver } = data;
  const parties = owner === ZERO_ADDRESS ? [] : [{ field: 'owner', address: owner }];
  if (receiver !== null && receiver !== ZERO_ADDRESS && receiver !== owner) {
    parties.push({ field: 'receiver', address: receiver });
  }
  const answers = await Promise.all(
    parties.map(({ address }) => runPolicy(owner, (call) => isDenied(address, call), context)),
  );
  const denied = parties.find((_, i) => answers[i] === true);
  if (denied !== undefined) return new OrderBookError('Forbidden', `the ${denied.field} is deny-listed`, denied);
  return answers.find((answer) => answer instanceof OrderBookError);
}

/** Asks a function of the host. What it fails with is told as a failure, and rejects the order. */
export async function runPolicy(
  owner: Address,
  question: (call: PolicyContext) => boolean | Promise<boolean>,
  { remote, onFailure }: PolicyCheckContext,
): Promise<boolean | OrderBookError> {
  try {
    const answer: unknown = await remote.run(owner, (signal) => question({ signal }));
    if (typeof answer === 'boolean') return answer;
    throw new TypeError(`the host answered ${typeof answer} where it must answer true or false`);
  } catch (failure) {
    onFailure(failure);
    return new OrderBookError('InternalServerError', '');
  }
}
