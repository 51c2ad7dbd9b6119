/** Named sets of rules: those of the specification, and those of the production order book. */
export const PROFILES = ['specification', 'production'] as const;

/** The name of a set of rules. */
export type Profile = (typeof PROFILES)[number];

/** Whether a policy accepts no order, sell orders only, or every order. */
export const PAIR_POLICIES = ['reject', 'sell', 'accept'] as const;

/** The orders that a pair policy accepts. */
export type PairPolicy = (typeof PAIR_POLICIES)[number];

/** The rules in which the profiles differ. Each rule can be set alone. */
export interface Rules {
  /** The codes and statuses of rejections. */
  readonly codes: Profile;
  /**
   * The required balance of an order without `fullBalanceCheck`. `full`: the sell amount, or one atom of partially
   * fillable orders. `minimum`: one atom; or no balance, if the allowance covers the sell amount.
   */
  readonly balance: 'full' | 'minimum';
  /** Whether orders may sell from or buy into balances of the vault. */
  readonly vaultBalances: 'accept' | 'reject';
  /** Orders whose sell and buy token are the same. */
  readonly sameToken: PairPolicy;
  /** Orders that sell the wrapped native token for native currency. */
  readonly wrappedToNative: PairPolicy;
}

/** The valid values of each rule; the first is that of the specification. */
export const RULE_VALUES = {
  codes: PROFILES,
  balance: ['full', 'minimum'],
  vaultBalances: ['accept', 'reject'],
  sameToken: PAIR_POLICIES,
  wrappedToNative: PAIR_POLICIES,
} as const satisfies { readonly [K in keyof Rules]: readonly Rules[K][] };

/** The rules and limits of each profile. */
export const PROFILE_RULES: Readonly<Record<Profile, { readonly rules: Rules; readonly maxAppDataSize: number }>> = {
  specification: {
    rules: {
      codes: 'specification',
      balance: 'full',
      vaultBalances: 'accept',
      sameToken: 'reject',
      wrappedToNative: 'reject',
    },
    maxAppDataSize: 1000,
  },
  production: {
    rules: {
      codes: 'production',
      balance: 'minimum',
      vaultBalances: 'reject',
      sameToken: 'reject',
      wrappedToNative: 'reject',
    },
    maxAppDataSize: 8192,
  },
};
