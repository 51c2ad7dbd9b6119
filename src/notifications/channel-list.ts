import { callListener } from '../listeners.ts';
import type { Channel, ChannelHost } from '../ports/channel.ts';

/** Channels by name. */
export type ChannelMap = ReadonlyMap<string, Channel>;

/** Creates the map of channels. @throws TypeError if an element is not a channel, or if names are not unique. */
export function createChannelMap(channels: readonly Channel[]): ChannelMap {
  if (
    !Array.isArray(channels) ||
    channels.some((channel: Channel | undefined) => typeof channel?.deliver !== 'function')
  ) {
    throw new TypeError('createAccounts: channels must be a list of channels such as webhookChannel()');
  }
  const byName = new Map(channels.map((channel) => [channel.name, channel]));
  if (byName.size !== channels.length) throw new TypeError('createAccounts: channels must have unique names');
  return byName;
}

/** Starts to listen on the channels. A failure of one is reported, and the others listen. */
export function startChannels(channels: ChannelMap, host: ChannelHost): void {
  for (const channel of channels.values()) callListener((given) => channel.start?.(given), host, host.report);
}

/** Stops all channels, one after the other. Failures are reported. */
export async function stopChannels(channels: ChannelMap, onFailure: (failure: unknown) => void): Promise<void> {
  for (const channel of channels.values()) {
    try {
      await channel.stop?.();
    } catch (failure) {
      onFailure(failure);
    }
  }
}
