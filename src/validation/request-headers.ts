/**
 * Creates the headers of requests to a service.
 *
 * @param option - The option that contains the last part.
 * @param parts - Names and values. Later ones win.
 * @throws TypeError for a name or a value that no request can carry. It does not repeat the value, which may be secret.
 */
export function createHeaders(option: string, ...parts: readonly Readonly<Record<string, string>>[]): Headers {
  const headers = new Headers();
  try {
    for (const part of parts) for (const [name, value] of Object.entries(part)) headers.set(name, value);
  } catch {
    throw new TypeError(`${option} must be valid in HTTP headers`);
  }
  return headers;
}
