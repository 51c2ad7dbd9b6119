import { context, SpanStatusCode } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base';
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';
import type { Api, Channel, ChannelDelivery, DeliveryResult, OrderBook } from 'intentbook';
import { createApi, createOrderBook } from 'intentbook';
import { memoryStore } from 'intentbook/memory';
import { traceApi, traceBook, traceChannel } from 'intentbook/otel';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { account, SEPOLIA, signOrder } from '../../support/orders.ts';
import { directFixture } from '../http/http-fixture.ts';

const exporter = new InMemorySpanExporter();
const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
const tracer = provider.getTracer('test');
const contexts = new AsyncLocalStorageContextManager();

beforeAll(() => void context.setGlobalContextManager(contexts.enable()));
afterAll(() => context.disable());

let book: OrderBook;
beforeEach(async () => {
  exporter.reset();
  book = createOrderBook({ chainId: SEPOLIA, store: memoryStore() });
  await book.start();
});
afterEach(() => book.close());

const validTo = () => Math.floor(Date.now() / 1000) + 600;
const byName = (name: string): ReadableSpan | undefined =>
  exporter.getFinishedSpans().find((span) => span.name === name);

describe('traced book behind a traced interface', () => {
  const send = (method: string, path: string, body?: unknown) =>
    directFixture(traceApi(tracer, createApi(book)), () => 0).send(method, path, body === undefined ? {} : { body });

  test('creates spans of a submission as children of its request', async () => {
    const stop = traceBook(tracer, { name: 'sepolia', book });
    const answer = await send('POST', '/api/v1/orders', await signOrder(account(1), { validTo: validTo() }));
    expect(answer.status).toBe(201);
    const request = byName('POST /api/v1/orders');
    expect(request?.attributes).toEqual({
      'http.request.method': 'POST',
      'http.response.status_code': 201,
      'http.route': '/api/v1/orders',
      'url.path': '/api/v1/orders',
    });
    for (const name of ['intentbook submit', 'intentbook recover signers', 'intentbook store orders.insert']) {
      const span = byName(name);
      expect(span?.attributes['intentbook.book']).toBe('sepolia');
      expect(span?.parentSpanContext?.spanId).toBe(request?.spanContext().spanId);
    }
    expect(byName('intentbook submit')?.attributes).toMatchObject({
      'intentbook.orders.accepted': 1,
      'intentbook.orders.rejected': 0,
      'intentbook.codes': [],
    });

    stop();
    exporter.reset();
    await send('GET', `/api/v1/orders/${answer.json()}`);
    expect(exporter.getFinishedSpans().map(({ name }) => name)).toEqual(['GET /api/v1/orders/{uid}']);
  });

  test('shows the codes of rejected orders', async () => {
    traceBook(tracer, { name: 'sepolia', book });
    await send('POST', '/api/v1/orders', await signOrder(account(1), { validTo: 1 }));
    expect(byName('intentbook submit')?.attributes).toMatchObject({
      'intentbook.orders.accepted': 0,
      'intentbook.orders.rejected': 1,
      'intentbook.codes': ['OrderExpired'],
    });
  });

  test.each([
    ['GET', '/api/v1/nothing', 404, 'GET'],
    ['OPTIONS', '/api/v1/nothing', 204, 'OPTIONS'],
    ['GET', '/api/v1/orders/nothing', 400, 'GET /api/v1/orders/{uid}'],
    ['GET', '/api//v1///orders/', 200, 'GET /api/v1/orders'],
  ])('names the span of %s %s with status %i "%s"', async (method, path, status, name) => {
    await send(method, path);
    const [span] = exporter.getFinishedSpans();
    const route = name.split(' ')[1];
    expect([span?.name, span?.attributes['http.route'], span?.status.code]).toEqual([
      name,
      route,
      SpanStatusCode.UNSET,
    ]);
    expect(span?.attributes['http.response.status_code']).toBe(status);
  });

  test('names a span of another interface after its path with placeholders', async () => {
    const api: Api = { handle: async ({ path }) => ({ status: path.endsWith('x') ? 400 : 200, headers: {} }) };
    const traced = directFixture(traceApi(tracer, api), () => 0);
    for (const path of ['/pages//7/0xab', '/pages/x']) await traced.send('GET', path);
    expect(exporter.getFinishedSpans().map(({ name }) => name)).toEqual(['GET /pages/{number}/{hex}', 'GET']);
  });
});

test('a request that fails without a response has a span with the status "error"', async () => {
  const failing: Api = { handle: () => Promise.reject(new Error('broken')) };
  const request = { method: 'GET', path: '/', query: '', header: () => undefined, body: { type: 'none' } } as const;
  await expect(traceApi(tracer, failing).handle(request)).rejects.toThrow('broken');
  const [span] = exporter.getFinishedSpans();
  expect([span?.name, span?.status.code]).toEqual(['GET', SpanStatusCode.ERROR]);
  expect(span?.attributes).toEqual({ 'http.request.method': 'GET', 'url.path': '/' });
});

describe('traced channel', () => {
  const delivery = { id: '7', subscription: {}, body: '{}', now: 0 } as unknown as ChannelDelivery;
  const call = { signal: new AbortController().signal };
  const channel = (deliver: () => Promise<DeliveryResult>): Channel => ({
    name: 'webhook',
    signs: false,
    confirmation: 'none',
    parseTarget: (target) => target,
    deliver,
  });

  test.each([
    [{ status: 'delivered' }, SpanStatusCode.UNSET],
    [{ status: 'failed', error: 'no' }, SpanStatusCode.ERROR],
  ] as const)('creates a span for an attempt with the result %j', async (result, code) => {
    const traced = traceChannel(
      tracer,
      channel(async () => result),
    );
    expect(await traced.deliver(delivery, call)).toEqual(result);
    const span = byName('intentbook deliver webhook');
    expect(span?.status.code).toBe(code);
    expect(span?.attributes).toEqual({
      'intentbook.channel': 'webhook',
      'intentbook.delivery': '7',
      'intentbook.status': result.status,
    });
  });

  test('keeps the methods of an instance of a class', async () => {
    class Counter implements Channel {
      readonly name = 'counter';
      readonly signs = true;
      readonly confirmation = 'echo';
      #calls = 0;
      parseTarget = (target: string) => target;
      #count<T>(result: T): T {
        this.#calls++;
        return result;
      }
      getHost(target: string) {
        return this.#count(target);
      }
      async challenge() {
        return this.#count(true);
      }
      async invite() {
        return this.#count('text');
      }
      async deliver() {
        return this.#count({ status: 'delivered' } as const);
      }
      start() {
        this.#count(undefined);
      }
      async stop() {
        this.#count(undefined);
      }
      get calls() {
        return this.#calls;
      }
    }
    const counter = new Counter();
    const traced = traceChannel(tracer, counter);
    expect(traced).toMatchObject({ name: 'counter', signs: true, confirmation: 'echo' });
    expect([traced.parseTarget('a'), traced.getHost?.('a')]).toEqual(['a', 'a']);
    expect(await traced.challenge?.('a', 'b', call)).toBe(true);
    expect(await traced.invite?.({} as never, call)).toBe('text');
    traced.start?.({} as never);
    await traced.stop?.();
    await traced.deliver(delivery, call);
    expect(counter.calls).toBe(6);
  });

  test('keeps the paths of an interface that is an instance of a class', () => {
    class Root implements Api {
      readonly #path = '/a';
      handle() {
        return Promise.resolve({ status: 200, headers: {} });
      }
      handlesPath(path: string) {
        return path === this.#path;
      }
    }
    const traced = traceApi(tracer, new Root());
    expect([traced.handlesPath?.('/a'), traced.handlesPath?.('/b')]).toEqual([true, false]);
  });

  test('ends the span of an attempt that throws', async () => {
    const traced = traceChannel(
      tracer,
      channel(() => Promise.reject(new Error('broken'))),
    );
    await expect(traced.deliver(delivery, call)).rejects.toThrow('broken');
    expect(byName('intentbook deliver webhook')?.status.code).toBe(SpanStatusCode.ERROR);
  });
});
