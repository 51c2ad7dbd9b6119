/**
 * The event log of a book, its delivery to listeners, and the emitter that has the listeners.
 *
 * @module
 */

export { createEmitter, createEventDispatcher, createEventLog } from './event-dispatcher.ts';
