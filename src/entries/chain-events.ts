/**
 * The entry `intentbook/chain-events`: the decoder of contract events, for hosts that index the chain themselves.
 *
 * @module
 */

export type {
  ChainLog,
  EmittedOrder,
  EventPosition,
  OnchainOrderEvent,
  ProtocolEvent,
  SettlementEvent,
} from '../protocol/event-decoder.ts';
export { decodeLog, EVENT_TOPICS } from '../protocol/event-decoder.ts';
