import assert from 'node:assert/strict';
import { OrderBookError } from '../../../src/errors.ts';
import { decodeParam } from '../../../src/http/route.ts';
import { listingQuery } from '../../../src/http/routes/orders.ts';
import { lastEventId } from '../../../src/http/sse.ts';
import { createClientResolver } from '../../../src/limits/client.ts';
import { parseListQuery } from '../../../src/orders/list-query.ts';
import { formatCursor } from '../../../src/records/results.ts';
import type { Target } from '../target.ts';
import { isRejection, rejecting, textOf } from '../target.ts';

const ADDRESS = '0xfFf9976782d46CC05630D1f6eBAb18b2324d6B14';
const UID = `0x${'aB'.repeat(56)}`;
const NAMES = ['status', 'sellToken', 'buyToken', 'owner', 'cursor', 'limit', 'offset'] as const;

const query: Target = {
  name: 'query',
  words: [
    ...NAMES.map((name) => `${name}=`),
    '&',
    '=',
    '%',
    '%00',
    '%ff',
    '%2',
    '+',
    ';',
    '#',
    '?',
    '1000',
    '1001',
    '1000000',
    '-1',
    '1e3',
    '0x10',
    ' ',
    ADDRESS,
    'open',
    'presignaturePending',
    'fulfilled',
    'cancelled',
    'expired',
    `1700000000000-${UID}`,
    '__proto__=',
    'constructor=',
  ],
  seeds: [
    `status=open&sellToken=${ADDRESS}&buyToken=${ADDRESS}&owner=${ADDRESS}&limit=1000`,
    `offset=10&limit=5&cursor=1700000000000-${UID}`,
  ],
  run(bytes) {
    const outcome = rejecting(OrderBookError, () =>
      parseListQuery(listingQuery(new URLSearchParams(textOf(bytes)), NAMES)),
    );
    if (isRejection(outcome)) return outcome;
    const { after, ...filters } = outcome;
    const again = { ...filters, ...(after === undefined ? {} : { cursor: formatCursor(after) }) };
    assert.deepEqual(parseListQuery(again), outcome);
    return outcome;
  },
};

const cursor: Target = {
  name: 'cursor',
  words: [
    '-',
    '0x',
    '0',
    '9',
    '1700000000000',
    '999999999999999',
    '9999999999999999',
    UID,
    UID.slice(2),
    ' ',
    '\n',
    '-0x',
  ],
  seeds: [`1700000000000-${UID}`, `0-${UID}`],
  run(bytes) {
    const text = textOf(bytes);
    const outcome = rejecting(OrderBookError, () => parseListQuery({ cursor: text }));
    if (isRejection(outcome)) return outcome;
    assert(outcome.after !== undefined && Number.isSafeInteger(outcome.after.creationDate));
    assert.deepEqual(parseListQuery({ cursor: formatCursor(outcome.after) }), outcome);
    return outcome;
  },
};

const eventId: Target = {
  name: 'event-id',
  words: ['0', '9', '999999999999999', '9999999999999999', '-1', '1e3', ' ', '\0', '\n', '１'],
  seeds: ['0', '17', '999999999999999'],
  run(bytes) {
    const text = textOf(bytes);
    const header = (name: string) => (name === 'last-event-id' ? text : undefined);
    const id = rejecting(OrderBookError, () => lastEventId({ ...request, header }));
    if (isRejection(id)) return id;
    if (id === undefined) assert.equal(text, '');
    else assert(Number.isSafeInteger(id) && id >= 0 && Number(text) === id);
    return id;
  },
};
const request = { method: 'GET', path: '/', query: '', body: { type: 'none' } } as const;

/** A segment of a path. */
const parameter: Target = {
  name: 'path-parameter',
  words: ['%', '%2', '%2F', '%00', '%ff', '%f0%9f%92%a9', '%ed%a0%80', '%u0041', '/', '..', '%2e%2e'],
  seeds: [ADDRESS, '%30x', '9007199254740993', '1'],
  run(bytes) {
    const text = rejecting(OrderBookError, () => decodeParam('uid', textOf(bytes)));
    if (isRejection(text)) return text;
    // A lone surrogate can neither be encoded nor decoded.
    assert.equal(decodeURIComponent(encodeURIComponent(text)), text);
    return text;
  },
};

const clientOf = createClientResolver(['127.0.0.1', '10.0.0.0/8', 'fd00::/8']);

/** The socket address, a line break, and the X-Forwarded-For header. */
const forwarded: Target = {
  name: 'forwarded-for',
  words: [
    '127.0.0.1',
    '10.0.0.1',
    '203.0.113.9',
    '::1',
    'fd00::1',
    '2001:db8::1',
    '::ffff:10.0.0.1',
    '[2001:db8::1]:443',
    ',',
    ', ',
    ':',
    '::',
    '.',
    '%eth0',
    '/8',
    '\n',
    '256',
    '0x7f',
    'unknown',
    ' ',
    'ffff:',
    ']',
    '[',
  ],
  seeds: ['127.0.0.1\n203.0.113.9, 10.0.0.1', 'fd00::1\n[2001:db8::1]:5678', '::ffff:127.0.0.1\n1.2.3.4:80'],
  run(bytes) {
    const [remoteAddress = '', forwardedFor = ''] = textOf(bytes).split(/\n(.*)/s);
    const client = clientOf({ remoteAddress, header: () => forwardedFor });
    assert.match(client, /^(unknown|\d{1,3}(\.\d{1,3}){3}|[0-9a-f]{1,4}(:[0-9a-f]{1,4}){3}::\/64)$/);
    return client;
  },
};

export const QUERY_TARGETS: readonly Target[] = [query, cursor, eventId, parameter, forwarded];
