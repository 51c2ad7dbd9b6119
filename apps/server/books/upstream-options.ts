import { defined, formatError } from '#internal';
import { parseJsonc } from '../config/jsonc.ts';
import { readText } from '../config/read-text.ts';
import type { ParsedBookSettings } from '../settings/schema.ts';
import type { UPSTREAM_SETTINGS } from '../settings/upstream-settings.ts';

/** The settings of the order book behind a book. */
type UpstreamSettings = Pick<ParsedBookSettings, keyof typeof UPSTREAM_SETTINGS>;

/** Returns the options of a book that connect it to the one behind it. */
export async function upstreamOptions(settings: UpstreamSettings) {
  const { upstream: url, upstreamFallbacks, upstreamKeyFile, upstreamHeaderFile, upstreamContact } = settings;
  if (url === undefined) return {};
  const { orderBookUpstream } = await import('intentbook/upstream');
  const upstream = orderBookUpstream({
    url,
    budget: { read: Number(settings.upstreamReads) },
    ...defined({ readFallbacks: upstreamFallbacks, contact: upstreamContact }),
    ...(upstreamKeyFile === undefined ? {} : { apiKey: () => readText(upstreamKeyFile) }),
    ...(upstreamHeaderFile === undefined ? {} : { headers: () => readHeaders(upstreamHeaderFile) }),
  });
  return { upstream, relay: settings.relay };
}

async function readHeaders(file: string): Promise<Record<string, string>> {
  const text = await readText(file);
  try {
    return parseJsonc(text) as Record<string, string>; // the adapter checks the members
  } catch (cause) {
    throw new Error(`the file of headers is not JSON: ${formatError(cause)}`);
  }
}
