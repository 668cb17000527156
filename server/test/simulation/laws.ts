/**
 * Owns: the sentences that must hold in every simulated world. Their ids are those of the invariants and of the rules
 * of the domain. Does not own: how each is watched (`journal-laws.ts`, `context-laws.ts`, `usage-laws.ts`,
 * `effect-laws.ts`, `follower.ts`, `people.ts`, `quiet.ts`).
 */
export const laws = {
  I1: 'Revisions of a workstream are exactly 1, 2, 3 … head.',
  I2: 'Who reads sees all entries below the last one it sees, whatever lands meanwhile.',
  I3: 'What is stored at a revision never changes.',
  I5: 'The stored projection is the fold of the stored entries.',
  I7: 'An entry a follower gets is the next one: no repeat, no gap.',
  I9: 'A follower that keeps up knows at every moment what the server knows.',
  I10: 'One Synchronized per subscription, after all that was accepted when it attached.',
  I11: 'What anybody is told is durable is stored, as it was told.',
  I13: 'A chunk never moves the revision and never leaves a hole; the overlay comes after Synchronized.',
  I14: 'A page of history has each entry once, in place, in the durable prefix or the pending suffix.',
  I18: 'A key tried again gets the recorded answer.',
  I19: 'A key tried again with another input is refused, and nothing is done.',
  I20: 'Of any number of copies of a command one is recorded, once.',
  I21: 'An accepted message is at all times in exactly one place: queued, said (perhaps taken back) or withdrawn.',
  I22: 'Messages are said in the order they were accepted, but for steers and what takes the place of another.',
  I23: 'A command that names what is not there any more does nothing.',
  I24: 'A command is answered however long models, tools and people take.',
  I25: 'One turn lives at a time.',
  I26: 'The first end of a turn stays.',
  I27: 'A turn is settled if and only if it has an outcome and a time.',
  I28: 'Nothing of an old claim is written: generations only grow, and stand for the live turn.',
  I29: 'The state in the list is computed from the projection.',
  I31: 'After the stop latch nothing of the turn begins.',
  I34: 'Nothing of a turn comes after its end.',
  I36: 'A tool starts only when its call and its start are stored under the claim of who starts it.',
  I37: 'No call runs twice.',
  I38: 'Each declared call gets one result, before the model is asked again and before its turn ends.',
  I39: 'The first decision on a call stays.',
  I40: 'What changes anything runs only as it was approved.',
  I41: 'Only a decision decides: nothing else implies yes, and no mode answers what a person was asked.',
  I42: 'An open approval belongs to a live turn that is not stopping.',
  I43: 'The model is asked once at a time.',
  I44: 'An open approval survives a restart.',
  'D-2': 'The model is asked only about what is stored.',
  'D-4': 'Nothing written by who is not the owner lands.',
  'D-5': 'Each model call that ended is counted once, as it was, whoever owns its workstream by then.',
  'D-9': 'NONE is said only of a call that never began or whose tool said so.',
  'D-12': 'A message, and what is said with a decision, runs in a turn of its author.',
  'D-22': 'A workstream is loaded by one flight, and an epoch has one owner.',
  'D-31': 'In a world that answers, every turn ends and nothing is left waiting.',
  'D-33': 'No model is asked when the budget is spent and nobody granted more.',
  'D-39':
    'What does not fit is not sent before room was tried for, which is tried once between two answers, and once more when the endpoint says so.',
  'D-40':
    'A summary stands once and first, of its own compaction and shorter, and parts, loses and repeats nothing; what came to nothing changed nothing.',
  'D-51': 'The database never refuses what is written to it as data.',
  'D-52': 'An outcome that is not known is read back: nobody gives up what it still owns.',
  'D-54': 'A follower that leaves leaves nothing behind.',
  'D-58': 'When all is quiet, the fold of a feed is a fresh snapshot.',
  'D-59': 'What is taken back is told to no model, and is not taken from under a live turn.',
  'D-66': 'What ends without being waited for ends under a new claim.',
  'D-71': 'No step throws.',
  'D-100': 'Nobody takes what a live session owns.',
} as const;

export type LawId = keyof typeof laws;

/** Says that a law does not hold. */
export type Violate = (law: LawId, detail: string) => void;

export interface Violation {
  readonly law: LawId;
  readonly detail: string;
}
