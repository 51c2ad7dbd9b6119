/** Thrown for a response above the size limit. */
export class ResponseTooLargeError extends Error {
  override readonly name = 'ResponseTooLargeError';
}

/**
 * Reads the text of a response, at most `limit` bytes.
 *
 * @throws ResponseTooLargeError if it is longer, TypeError if it is not valid UTF-8.
 */
export async function readResponseText(response: Response, limit: number): Promise<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let text = '';
  let size = 0;
  const reader = response.body?.getReader();
  if (reader === undefined) return text;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    size += value.length;
    if (size > limit) {
      await reader.cancel();
      throw new ResponseTooLargeError(`the response must have at most ${limit} bytes`);
    }
    text += decoder.decode(value, { stream: true });
  }
}

/**
 * Reads the JSON of a response, at most `limit` bytes.
 *
 * @param name - The service, for errors.
 * @param absent - Statuses of a service that has no value.
 * @returns `undefined` for one of these statuses.
 * @throws Error for another status than 200 to 299, and as `readResponseText` and `JSON.parse` do.
 */
export async function readJsonResponse(
  response: Response,
  name: string,
  limit: number,
  absent: readonly number[] = [],
): Promise<unknown> {
  const isAbsent = absent.includes(response.status);
  if (response.ok && !isAbsent) return JSON.parse(await readResponseText(response, limit));
  await response.body?.cancel();
  if (isAbsent) return undefined;
  throw new Error(`${name} responded with status ${response.status}`);
}
