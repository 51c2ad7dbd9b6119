import { memoryAccountStore } from 'intentbook/memory';
import { describeAccountConformance } from './conformance.ts';

describeAccountConformance('the memory account store keeps the contract', {
  traits: memoryAccountStore().traits,
  async create() {
    const store = memoryAccountStore();
    return { connect: () => store, dispose: async () => {} };
  },
});
