/** The source of randomness. */
export interface Random {
  /** Returns unguessable bytes, for tokens and keys. */
  bytes(size: number): Uint8Array;
  /** Returns a random UUID (version 4), which identifies this process among others. */
  uuid(): string;
  /** Returns a number from 0 to below 1, which spreads work over time. It may be predictable. */
  fraction(): number;
}

export const systemRandom: Random = {
  bytes: (size) => crypto.getRandomValues(new Uint8Array(size)),
  uuid: () => crypto.randomUUID(),
  fraction: () => Math.random(),
};
