import type { Followed } from 'schema/client-kit';
import { expect, it } from 'vitest';
import { newsAfter } from './summary-news.ts';

const failed = { level: 'WARNING', code: 'COMPACTION_FAILED', message: 'It did not answer.' };

/** What is followed, as far as this looks at it. */
const followed = (
  turn: { readonly id: string; readonly kind?: 'CHAT' | 'COMPACT' } | null,
  notices: readonly object[] = [],
  checkpoint: { readonly id: string } | null = null,
) => ({ known: { notices, view: { projection: { turn, checkpoint } } } }) as unknown as Followed;

it('D-40 says that a summary failed until the next turn, though the feed says it once', () => {
  const news = newsAfter(null, followed({ id: 't1' }, [failed]));
  expect(news?.message).toBe('It did not answer.');
  expect(newsAfter(news, followed({ id: 't1' }))).toBe(news);
  expect(newsAfter(news, followed({ id: 't2' }))).toBeNull();
  expect(newsAfter(null, followed({ id: 't2' }, [{ ...failed, code: 'COMPACTING' }]))).toBeNull();
});

it('D-40 says it no more once there is a summary', () => {
  const news = newsAfter(null, followed({ id: 't1' }, [failed], { id: 'c1' }));
  expect(newsAfter(news, followed({ id: 't1' }, [], { id: 'c1' }))).toBe(news);
  expect(newsAfter(news, followed({ id: 't1' }, [], { id: 'c2' }))).toBeNull();
});

it('leaves a turn that was about the summary alone to its outcome', () => {
  expect(newsAfter(null, followed({ id: 't1', kind: 'COMPACT' }, [failed]))).toBeNull();
});
