import { memoryStore } from 'intentbook/memory';
import { describeConformance } from './conformance.ts';

describeConformance('the memory store keeps the contract', {
  traits: memoryStore().traits,
  async create() {
    const store = memoryStore();
    return { connect: () => store, dispose: async () => {} };
  },
});
