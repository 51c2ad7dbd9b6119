/** A function of a schema. `migrate` replaces it if its text differs. */
export interface SqlFunction {
  readonly name: string;
  /** As in `CREATE FUNCTION`, between the parentheses. */
  readonly parameters: string;
  readonly returns: string;
  /** Language and volatility: `plpgsql STABLE`. */
  readonly language: string;
  /** Settings of the server during a call. Default: those of the session. */
  readonly settings?: Readonly<Record<string, string>>;
  readonly body: string;
}

/**
 * Settings of functions that write. `lock_timeout` limits the wait for the lock of an owner. Sequential scans are
 * disabled, because a plan that is cached while a table is nearly empty would be used until the next `ANALYZE`. A
 * disabled scan that is used all the same has a cost above `jit_above_cost`, so `jit` would compile it at each call.
 */
export const WRITE_SETTINGS = {
  lock_timeout: '4s',
  plan_cache_mode: 'force_generic_plan',
  enable_seqscan: 'off',
  jit: 'off',
} as const;

export function renderFunction(schema: string, { name, parameters, returns, language, settings, body }: SqlFunction) {
  const options = Object.entries(settings ?? {}).map(([key, value]) => ` SET ${key} = '${value}'`);
  return (
    `CREATE OR REPLACE FUNCTION ${schema}.${name}(${parameters})\n` +
    `RETURNS ${returns} LANGUAGE ${language}${options.join('')} AS $$${body}$$;\n`
  );
}
