import type { AccountStore } from '../ports/account-store.ts';
import type { Clock } from '../ports/clock.ts';
import type { Random } from '../ports/random.ts';
import type { KnownBook } from './account-books.ts';
import type { SourceObserver } from './observations.ts';
import type { TokenLookup } from './token-labels.ts';
import type { WalletVerifier } from './wallet-signature.ts';

/** The parts of the account interface that its features share. */
export interface AccountTools {
  readonly books: readonly KnownBook[];
  readonly store: AccountStore;
  readonly tokens: TokenLookup;
  readonly verify: WalletVerifier;
  readonly clock: Clock;
  readonly random: Random;
  /** Time limit of a call to a source, in milliseconds. */
  readonly deadline: number;
  readonly observer: SourceObserver;
  readonly onFailure: (failure: unknown) => void;
  /** Throws a `StoreError` if the interface is not started (`NotStarted`) or closed (`Closed`). */
  readonly assertStarted: () => void;
}
