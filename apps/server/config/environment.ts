import { formatUnknownName } from '#internal';
import { FLAGS, PREFIX } from '../settings/flags.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** Variables that Kubernetes sets for a service with the name intentbook. */
const SERVICE_LINK = /^INTENTBOOK_(?:\w+_)?(?:SERVICE_(?:HOST|PORT)(?:_\w+)?|PORT_\d+_(?:TCP|UDP|SCTP)(?:_\w+)?)$/;
/** Such a variable with the name of a setting, `INTENTBOOK_PORT`, and its value: `tcp://10.0.0.1:80`. */
const SERVICE_PORT = /^INTENTBOOK_(?:\w+_)?PORT$/;
const SERVICE_ADDRESS = /^(?:tcp|udp|sctp):\/\//;

/** Removes the variables that Kubernetes sets in each container for services whose names begin with intentbook. */
export function removeServiceLinks(env: Environment): Environment {
  const isServiceLink = ([name, value = '']: [string, string | undefined]) =>
    SERVICE_LINK.test(name) || (SERVICE_PORT.test(name) && SERVICE_ADDRESS.test(value));
  return Object.fromEntries(Object.entries(env).filter((entry) => !isServiceLink(entry)));
}

/**
 * Finds unknown variables with the prefix INTENTBOOK_, so that a misspelled one does not silently become a default.
 *
 * @returns a problem for each, with the name of the most similar variable.
 */
export function findUnknownVariables(env: Environment): string[] {
  const known = FLAGS.map(({ variable }) => variable).filter((name) => name.startsWith(PREFIX));
  // Names are compared without the common prefix, which would make them all similar.
  const bare = (name: string) => name.slice(PREFIX.length);
  return Object.entries(env).flatMap(([name, value]) => {
    if (!name.startsWith(PREFIX) || !value || known.includes(name)) return [];
    const text = formatUnknownName('variable', bare(name), known.map(bare));
    return [text.replace(/"(?=\w)/g, `"${PREFIX}`)];
  });
}
