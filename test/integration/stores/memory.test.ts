import { memoryStore } from 'intentbook/memory';
import { describeConformance } from './conformance.ts';

describeConformance('memory store', {
  traits: memoryStore().traits,
  async create() {
    const store = memoryStore();
    return { connect: () => store, dispose: async () => {} };
  },
});
