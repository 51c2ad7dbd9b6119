// Loaded by a server before its program. Adds the milliseconds in a file to the clock of the main thread. At SIGUSR2,
// the first thread that has received a message fails.
import { readFileSync } from 'node:fs';
import { Worker } from 'node:worker_threads';

const { now } = Date;
let offset = 0;
if (process.env.CHAOS_CLOCK !== undefined) setInterval(read, 100).unref();

function read() {
  try {
    offset = Number(readFileSync(process.env.CHAOS_CLOCK, 'utf8'));
  } catch {
    // No descriptor is free: the clock keeps its difference.
  }
}

globalThis.Date = class extends Date {
  static now = () => now() + offset;
  constructor(...given) {
    super(...(given.length === 0 ? [now() + offset] : given));
  }
};

const { postMessage } = Worker.prototype;
Worker.prototype.postMessage = function post(...message) {
  Worker.prototype.postMessage = postMessage;
  // A thread that is terminated in the driver would abort the process, so only its end is reported.
  process.on('SIGUSR2', () => this.emit('error', new Error('out of memory')));
  return postMessage.apply(this, message);
};
