import type {
  CompleteCompetition,
  NewAuction,
  StoredAuction,
  StoredCompetition,
  StoredCompetitionQuery,
} from 'intentbook';
import { SortedList } from './sorted-list.ts';

/** Creates auctions and competitions without entries. All methods are synchronous, so each is one atomic step. */
export function createMemoryAuctions() {
  const auctions = new Map<number, StoredAuction>();
  const competitions = new Map<number, CompleteCompetition>();
  const highestFirst = new SortedList<number>((a, b) => b - a);
  let last = 0;

  return {
    insert(auction: NewAuction, keep: number, least: number): number {
      last = Math.max(last + 1, least);
      const id = last;
      auctions.set(id, { ...auction, id });
      for (const oldest of auctions.keys()) {
        if (auctions.size <= keep) break;
        auctions.delete(oldest);
      }
      return id;
    },
    get: (id: number): StoredAuction | undefined => auctions.get(id),
    record(competition: CompleteCompetition, keep: number): 'recorded' | 'replaced' {
      const { auctionId } = competition;
      const isNew = !competitions.has(auctionId);
      competitions.set(auctionId, competition);
      if (isNew) highestFirst.add(auctionId);
      for (const lowest of [...highestFirst.from(keep)]) {
        highestFirst.remove(lowest);
        competitions.delete(lowest);
      }
      return isNew ? 'recorded' : 'replaced';
    },
    competition: (auctionId: number): CompleteCompetition | undefined => competitions.get(auctionId),
    lastCompetition: (): number => highestFirst.from(0).next().value ?? 0,
    competitions({
      limit,
      deadlineAbove = -1,
      deadlineBelow = Number.POSITIVE_INFINITY,
    }: StoredCompetitionQuery): StoredCompetition[] {
      const page: StoredCompetition[] = [];
      for (const auctionId of highestFirst.from(0)) {
        const competition = competitions.get(auctionId);
        if (competition === undefined || page.length === limit) break;
        const { deadline, body } = competition;
        if (deadline > deadlineAbove && deadline < deadlineBelow) page.push({ auctionId, deadline, body });
      }
      return page;
    },
  };
}
