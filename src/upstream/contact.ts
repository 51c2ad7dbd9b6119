import type { UpstreamBook } from './context.ts';

/** A UID that no order has: the first read proves only that the upstream responds. */
const NO_ORDER = `0x${'00'.repeat(56)}` as const;

/** Creates the check whether the upstream can be reached: each class that begins to fail is reported once. */
export function createContact({ upstream, onFailure }: Pick<UpstreamBook, 'upstream' | 'onFailure'>) {
  const reported = new Map<string, number>();

  return {
    /** Sends a first read, so that a wrong URL is known before the first order. */
    async begin(): Promise<void> {
      await upstream.getOrders([NO_ORDER]);
      this.report();
    },
    report(): void {
      for (const [name, { since, reason }] of Object.entries(upstream.status().failing)) {
        if (reported.get(name) === since) continue;
        reported.set(name, since);
        onFailure(new Error(`upstream ${upstream.name}: ${name} fails: ${reason}`));
      }
    },
  };
}
