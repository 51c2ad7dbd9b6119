import * as z from 'zod';
import { CHAIN_ALIASES, CHAINS } from '#internal';
import { suggest } from './suggest.ts';

/** Names of the chains: their path segments. */
const CHAIN_NAMES: readonly string[] = CHAINS.map(({ segment }) => segment);
/** Names of the chains with their aliases: `xdai (or gnosis)`. */
export const CHAIN_LABELS: readonly string[] = CHAIN_NAMES.map((name) => {
  const aliases = Object.keys(CHAIN_ALIASES).filter((alias) => CHAIN_ALIASES[alias] === name);
  return aliases.length === 0 ? name : `${name} (or ${aliases.join(', ')})`;
});

/** A chain, by its name, an alias or its id. */
export function chain() {
  const expected = `one of ${CHAIN_LABELS.join(', ')}, or a chain id`;
  const names = [...CHAIN_NAMES, ...Object.keys(CHAIN_ALIASES)];
  const error = ({ input }: { readonly input?: unknown }) => `must be ${expected}${suggest(input, names)}`;
  const schema = z.union([z.enum(names), z.int().min(1)], { error });
  return {
    schema,
    value: '<name>',
    names,
    expected,
    fromText: (text: string) => (/^\d{1,16}$/.test(text) ? +text : text),
  };
}
