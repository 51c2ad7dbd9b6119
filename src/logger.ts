import type { IndexerObservation } from './chain/index.ts';
import type { Logger } from './ports/logger.ts';

interface LoggedEvents {
  on(event: 'failure', listener: (failure: unknown) => void): void;
  on(event: 'chainProgress', listener: (observation: IndexerObservation) => void): void;
}

/** Logs failures, nodes that do not respond, and reorganisations. */
export function attachLogger({ on }: LoggedEvents, logger: Logger, chainId: number): void {
  let failing: string | undefined;
  on('failure', (err) => logger.error({ chainId, err }, 'failure'));
  on('chainProgress', (observation) => {
    switch (observation.type) {
      case 'failure':
        // The indexer retries every few seconds: only the first failure in a row of a node is logged.
        if (failing !== observation.source) {
          const { source, failure: err } = observation;
          logger.warn({ chainId, source, err }, 'node does not respond');
        }
        failing = observation.source;
        break;
      case 'progress':
        if (failing !== undefined) logger.info({ chainId, source: failing }, 'chain is indexed again');
        failing = undefined;
        break;
      case 'reorganised':
        logger.warn({ chainId, from: observation.from.number, to: observation.to }, 'chain reorganisation');
        break;
      case 'missed':
        logger.warn({ chainId, block: observation.block, events: observation.events }, 'node returned events late');
        break;
      case 'head':
      case 'standingBy':
        break; // the normal operation
    }
  });
}
