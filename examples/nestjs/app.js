import { realpathSync } from 'node:fs';
import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { createOrderBook } from 'intentbook';
import { expressRouter } from 'intentbook/express';
import { memoryStore } from 'intentbook/memory';

const BOOK = 'ORDER_BOOK';

/** Provides the book, and closes it before the application stops accepting connections. */
class BookModule {
  constructor(book) {
    this.book = book;
  }

  async beforeApplicationShutdown() {
    await this.book.close(); // ends event streams, so that the server can close
  }
}

// Plain JavaScript has no decorators, so they are called as functions.
Reflect.defineMetadata('self:paramtypes', [{ index: 0, param: BOOK }], BookModule);
Module({
  providers: [
    {
      provide: BOOK,
      async useFactory() {
        const book = createOrderBook({ chainId: 11155111, store: memoryStore() });
        await book.start();
        return book;
      },
    },
  ],
  exports: [BOOK],
})(BookModule);

/** Creates the application, with the book at `/sepolia`. */
export async function createApp() {
  const app = await NestFactory.create(BookModule, { logger: ['error'] });
  app.use('/sepolia', expressRouter(app.get(BOOK)));
  app.enableShutdownHooks();
  return app;
}

if (import.meta.filename === realpathSync(process.argv[1] ?? '')) {
  const app = await createApp();
  await app.listen(8080, '127.0.0.1');
}
