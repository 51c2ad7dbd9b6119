/**
 * The event log of a book, and its delivery to listeners.
 *
 * @module
 */

export { createEventDispatcher, createEventLog } from './event-dispatcher.ts';
