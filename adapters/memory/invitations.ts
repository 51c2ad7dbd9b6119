import type { InvitationLimit, InvitationLimits, Subscription } from 'intentbook';

interface Invitation {
  readonly channel: string;
  readonly target: string;
  readonly account: string;
  readonly client: string | undefined;
  readonly domain: string | undefined;
  readonly sentAt: number;
}

/** Creates the invitations of the memory account store, which count against limits. */
export function createMemoryInvitations(subscriptions: ReadonlyMap<string, Subscription>) {
  let invitations: Invitation[] = [];

  return {
    /** Returns the limit that forbids an invitation, if any. */
    check(
      { channel, target, account }: Subscription,
      { since, perTarget, perAccount, perClient, perDomain, perChannel, client, domain }: InvitationLimits,
    ): InvitationLimit | undefined {
      invitations = invitations.filter(({ sentAt }) => sentAt >= since);
      const ofChannel = invitations.filter((each) => each.channel === channel);
      const waiting = [...subscriptions.values()].some(
        (each) => each.state === 'pending' && each.channel === channel && each.target === target,
      );
      if (waiting) return 'pending';
      if (ofChannel.filter((each) => each.target === target).length >= perTarget) return 'target';
      const count = (key: 'account' | 'client' | 'domain', value: string | undefined, list = invitations) =>
        value === undefined ? 0 : list.filter((each) => each[key] === value).length;
      if (count('account', account) >= perAccount) return 'account';
      if (count('client', client) >= perClient) return 'client';
      if (count('domain', domain, ofChannel) >= perDomain) return 'domain';
      return ofChannel.length >= perChannel ? 'channel' : undefined;
    },
    add({ channel, target, account }: Subscription, { client, domain }: InvitationLimits, sentAt: number): void {
      invitations.push({ channel, target, account, client, domain, sentAt });
    },
    /** Lets an invitation that was not sent count for its account and client only. */
    withdraw({ channel, target, account, createdAt }: Subscription): void {
      invitations = invitations.map((each) =>
        each.channel === channel && each.target === target && each.account === account && each.sentAt === createdAt
          ? { ...each, channel: '' }
          : each,
      );
    },
    forget(account: string): void {
      invitations = invitations.filter((each) => each.account !== account);
    },
  };
}
