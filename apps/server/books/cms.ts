import type { Announcement, AnnouncementSource } from 'intentbook';
import * as z from 'zod';
import {
  createHeaders,
  createServiceFetch,
  getEndpoint,
  parseDateTime,
  parseServiceUrl,
  readJsonResponse,
} from '#internal';

/** Maximum size of a response in bytes. */
const MAX_BYTES = 4 * 1024 * 1024;

/** The used members of an item. Times are in ISO 8601. */
const ITEM = z.object({
  id: z.int().min(0),
  title: z.string().nullish(),
  description: z.string(),
  createdAt: z.string().transform(parseDateTime).pipe(z.number()),
  url: z.string().nullish(),
  thumbnail: z.string().nullish(),
});

/** Creates a source of announcements: `GET <url>/notification-list/<account>` of a content system. */
export function cmsAnnouncements({
  url,
  apiKey,
}: {
  readonly url: string;
  readonly apiKey: string;
}): AnnouncementSource {
  const service = parseServiceUrl('CMS_BASE_URL', url);
  const key = { authorization: `Bearer ${apiKey}` };
  const headers = createHeaders('CMS_API_KEY', { accept: 'application/json' }, key);
  const send = createServiceFetch();
  return async (account, { signal }) => {
    const response = await send(getEndpoint(service, `notification-list/${account}`), { headers, signal });
    const items = await readJsonResponse(response, 'the content system', MAX_BYTES);
    if (!Array.isArray(items)) throw new Error('the content system did not return a list of notifications');
    // The account interface reports and leaves out elements that are not announcements.
    return items.map((each) => toAnnouncement(ITEM.safeParse(each).data)) as Announcement[];
  };
}

function toAnnouncement(item: z.output<typeof ITEM> | undefined): Announcement | undefined {
  if (item === undefined) return undefined;
  const { id, title, description, createdAt, url, thumbnail } = item;
  const metadata = Object.fromEntries(Object.entries({ title, url, thumbnail }).filter(([, value]) => value != null));
  return { id, at: createdAt, message: description, metadata };
}
