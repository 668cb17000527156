/**
 * Owns: what the words of a refusal speak of: a conversation that is too long, a limit of the answer that is not taken, or
 * a pace that is too fast. Pure. Does not own: what follows (`faults.ts`, `wire/wants.ts`).
 *
 * There is no list of sentences, since every endpoint has its own, and changes them: a clause is about the conversation
 * when it names what a model reads, a measure of that, and a bound, whatever their order. The sentences that were seen,
 * those that mean something else included, are in the tests.
 *
 * Invariant: every expression reads a text once, or a bounded stretch of it from each place.
 */

/** What a model reads. One message may be anything, even the answer; so may a request. */
const read = /\b(?:prompts?|inputs?|context|messages|message size|your request)\b/i;
const measure = /\b(?:tokens?|length|size|window|ctx|long|longer|large|larger)\b/i;
const bound =
  /\b(?:exceed|overflow|limit|max(?:imum)?\b|configured\b|reduce\b|range of\b|up to\b|too (?:long|large|many)\b|(?:longer|larger|greater|more|less) than\b)|\s[<>]=?\s/i;

/** The limit of the answer, under every name that endpoints have for it. */
const answerLimit =
  /\bmax(?:imum)?[\s_-]?(?:(?:completion|output|new|generated|response)[\s_-]?)?tokens\b|\bnum_predict\b/i;

/** What is bounded is how much in how long, or what was paid for. */
const pace =
  /\b(?:per|a|each|every)[\s-](?:second|minute|min|hour|day|month)\b|\b[tr]p[mdh]\b|\brate[\s_-]?limit|\btoo many requests\b|\bplease wait\b|\bthrottl|\bquota|\bcredits?\b|\bbilling\b/i;

/** What was too long is how long it took: to ask again may help, to summarise does not. */
const time =
  /\b(?:took|takes?|taking) (?:too )?long(?:er)?\b|\btimed?[\s-]?out\b|\bdeadline\b|\b(?:milli)?seconds?\b|\bminutes?\b/i;

/** Names are read as words: `context_length_exceeded` says what it says. */
const clausesOf = (text: string): readonly string[] => text.replaceAll('_', ' ').split(/[.:;!?]\s|\n/);

/** Whether it says that too much is asked in a while, or more than is paid for. */
export const saysTooFast = (text: string): boolean => pace.test(text.replaceAll('_', ' '));

/** Of a request, by itself; what has been used up of a limit is another matter (G11). */
const tooLarge = /\brequest (?:is |was )?too large\b/i;
const figure = (name: string): RegExp => new RegExp(`\\b${name}:?\\s{1,4}(\\d[\\d,]{0,15})`, 'i');
const limitFigure = figure('limit');
const requestedFigure = figure('requested');

/** Whether it says that one request is more than is let through in a while: the same one never passes, however late. */
export function saysTooMuchAtOnce(text: string): boolean {
  if (!saysTooFast(text) || !tooLarge.test(text)) return false;
  const [limit, requested] = [limitFigure, requestedFigure].map((one) =>
    Number(one.exec(text)?.[1]?.replaceAll(',', '')),
  );
  return !(requested! <= limit!);
}

/** Whether it speaks of the limit of the answer at all. */
export const namesAnswerLimit = (text: string): boolean => answerLimit.test(text);

/** Whether it says that the conversation is longer than the model can read. */
export const saysTooLong = (text: string): boolean =>
  !saysTooFast(text) && (clausesOf(text).some(isOfConversation) || leavesNothing(text));

/** A clause is about what it names first: "inputs and max_tokens must be …", but "max_tokens exceeds the context …". */
function isOfConversation(clause: string): boolean {
  const at = clause.search(read);
  const limitAt = clause.search(answerLimit);
  return (
    at !== -1 &&
    (limitAt === -1 || at < limitAt) &&
    measure.test(clause) &&
    bound.test(clause) &&
    !time.test(clause)
  );
}

/** vLLM takes the prompt from its window and finds that less than nothing is left for an answer. */
const leavesNothing = (text: string): boolean => namesAnswerLimit(text) && /\bgot -\d/.test(text);

/** Numbers with their thousands set apart, as one; a range from … to … by words. */
export const plainNumbers = (text: string): string =>
  text.replace(/\[\s*\d+\s*,\s*(?=\d)/g, '[to ').replace(/(?<=\d)[,_](?=\d{3}(?!\d))/g, '');

const mostTokens =
  /(?:\b(?<below>less than)|\b(?:to|and|than|at most|(?:limit|max|maximum)\b[^\d.]{0,80})|[<>]=|[<>](?=\s))\W{0,4}(?<most>\d{1,9})\b(?<open>\s*\(exclusive)?/gi;

/** The longest answer that it says is taken, of `least` tokens or more and fewer than were `sent`; null: it names none. */
export function answerLimitIn(text: string, least: number, sent: number): number | null {
  if (!namesAnswerLimit(text) || saysTooLong(text)) return null;
  for (const { groups } of plainNumbers(text).matchAll(mostTokens)) {
    const most = Number(groups?.['most']) - ((groups?.['below'] ?? groups?.['open']) ? 1 : 0);
    if (most >= least && most < sent) return most;
  }
  return null;
}
