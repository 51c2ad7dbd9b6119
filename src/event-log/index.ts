/**
 * The event log of a book, and its delivery to listeners.
 *
 * @module
 */

export { createEventDispatcher } from './event-dispatcher.ts';
export { createEventLog } from './event-log.ts';
