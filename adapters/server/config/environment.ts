import { formatUnknownName } from '#internal';
import { UsageError } from '../cli/usage-error.ts';
import { FLAGS, PREFIX } from '../settings/flags.ts';

/** Variables that Kubernetes sets for a service with the name intentbook. */
const SERVICE_LINK = /^INTENTBOOK_(?:\w+_)?(?:SERVICE_(?:HOST|PORT)(?:_\w+)?|PORT_\d+_(?:TCP|UDP)(?:_\w+)?)$/;

/**
 * Rejects unknown variables with the prefix INTENTBOOK_, so that a misspelled one does not silently become a default.
 *
 * @throws UsageError with the name of the most similar variable.
 */
export function rejectUnknownVariables(env: Readonly<Record<string, string | undefined>>): void {
  const known = FLAGS.map(({ variable }) => variable).filter((name) => name.startsWith(PREFIX));
  // Names are compared without the common prefix, which would make them all similar.
  const bare = (name: string) => name.slice(PREFIX.length);
  for (const [name, value] of Object.entries(env)) {
    if (!name.startsWith(PREFIX) || !value || known.includes(name) || SERVICE_LINK.test(name)) continue;
    const text = formatUnknownName('variable', bare(name), known.map(bare));
    throw new UsageError(text.replace(/"(?=\w)/g, `"${PREFIX}`));
  }
}
