import type { AccountStore } from '../ports/account-store.ts';

/** The feed whose progress marker is the age of what retention has deleted. It has no entries. */
const FEED = 'retention';

/** Key of the marker: a time in milliseconds since 1970. */
const BEFORE = 'notifications';

type Notifications = Pick<AccountStore, 'notifications'>;

/** Returns the time before which notifications have been deleted. 0 if none has been. */
export async function readPrunedBefore({ notifications }: Notifications): Promise<number> {
  const [marker] = await notifications.marks(FEED, [BEFORE]);
  return Number(marker?.value ?? 0);
}

/** Records that notifications before a time are deleted, so that a log that is read again does not create them. */
export async function recordPrunedBefore({ notifications }: Notifications, before: number): Promise<void> {
  if (before <= (await readPrunedBefore({ notifications }))) return;
  const after = await notifications.cursor(FEED);
  const marks = [{ key: BEFORE, value: String(before) }];
  await notifications.append({ feed: FEED, after, through: 0, changes: [], marks });
}
