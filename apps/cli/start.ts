#!/usr/bin/env node
import { constants } from 'node:os';

// The kernel ignores a signal that the first process of a container does not handle. A server handles it when the
// program is loaded, and a command does not.
if (process.pid === 1) {
  for (const name of ['SIGINT', 'SIGTERM'] as const) {
    process.on(name, () => {
      if (process.listenerCount(name) === 1) process.exit(128 + constants.signals[name]);
    });
  }
}

(await import('./main.ts')).runProcess();
