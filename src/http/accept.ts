import type { ApiRequest } from './message.ts';

/**
 * Returns whether a client requests a media type instead of JSON: `Accept` names the type, with at least the weight of
 * JSON (RFC 9110, 12.5.1). A wildcard alone requests JSON.
 */
export function isTypeRequested(request: Pick<ApiRequest, 'header'>, type: string): boolean {
  const weights = new Map((request.header('accept') ?? '').toLowerCase().split(',').map(parseRange));
  const weight = weights.get(type) ?? 0;
  const json = weights.get('application/json') ?? weights.get('application/*') ?? weights.get('*/*') ?? 0;
  return weight > 0 && weight >= json;
}

/** Parses `text/csv;q=0.5`. Without a weight, it is 1. */
function parseRange(text: string): [range: string, weight: number] {
  const [range = '', ...parameters] = text.split(';').map((part) => part.trim());
  return [range, Number(parameters.find((parameter) => parameter.startsWith('q='))?.slice(2) ?? 1)];
}
