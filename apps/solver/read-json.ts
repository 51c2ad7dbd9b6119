import { readResponseText } from '#internal';

/**
 * Reads the JSON of a response.
 *
 * @param name - The service, for errors.
 * @throws Error if the status is not from 200 to 299, ResponseTooLargeError if the body is larger than `maxBytes`.
 */
export async function readJsonResponse(response: Response, name: string, maxBytes: number): Promise<unknown> {
  if (!response.ok) {
    await response.body?.cancel();
    throw new Error(`${name} returned status ${response.status}`);
  }
  return JSON.parse(await readResponseText(response, maxBytes));
}
