import type { ApiResponse } from './message.ts';

const PAGE_HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'cache-control': 'no-store',
  // The address of the page contains a token.
  'referrer-policy': 'no-referrer',
  'content-security-policy': "default-src 'none'; form-action 'self'; frame-ancestors 'none'",
} as const;

/**
 * Creates a page with a title, a sentence and, optionally, a button that sends POST to the address of the page. The
 * texts are constants: nothing from a request is rendered.
 */
export function pageResponse(title: string, sentence: string, button?: string, status = 200): ApiResponse {
  const form = button === undefined ? '' : `<form method="post"><button>${button}</button></form>`;
  const body =
    `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">` +
    `<title>${title}</title><h1>${title}</h1><p>${sentence}</p>${form}</html>\n`;
  return { status, headers: PAGE_HEADERS, body };
}
