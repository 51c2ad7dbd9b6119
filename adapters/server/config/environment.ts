import { formatUnknownName } from '#internal';
import { envName, FLAG_NAMES } from '../cli/flags.ts';
import { UsageError } from '../cli/usage-error.ts';

const PREFIX = 'INTENTBOOK_';

/** What Kubernetes sets in every container for a service that is named like us. */
const SERVICE_LINK = /^INTENTBOOK_(?:\w+_)?(?:SERVICE_(?:HOST|PORT)(?:_\w+)?|PORT_\d+_(?:TCP|UDP)(?:_\w+)?)$/;

/**
 * Rejects variables that look like ours and are not, so that a misspelling is not silently a default.
 *
 * @throws UsageError naming the variable that was probably meant.
 */
export function rejectUnknownVariables(env: Readonly<Record<string, string | undefined>>): void {
  const known = FLAG_NAMES.map(envName);
  // Compared without what they all begin with, which would make any two of them alike.
  const bare = (name: string) => name.slice(PREFIX.length);
  for (const [name, value] of Object.entries(env)) {
    if (!name.startsWith(PREFIX) || !value || known.includes(name) || SERVICE_LINK.test(name)) continue;
    const text = formatUnknownName('variable', bare(name), known.map(bare));
    throw new UsageError(text.replace(/"(?=\w)/g, `"${PREFIX}`));
  }
}
