/**
 * Owns: what may stand in `weir.config.json`, described so that an editor can help (the JSON schema in `docs/` is
 * printed from here). Does not own: reading it (`read.ts`), or what a binding is.
 */
import type { Effort } from 'schema/projection';
import * as z from 'zod';

const tokens = z.int().min(1).max(100_000_000);
const dollars = z.number().min(0).max(1_000_000);
const effort = z.enum(['none', 'minimal', 'low', 'medium', 'high', 'xhigh']);

/** Of an alias; it stands in logs, links and sentences. */
const aliasPattern = /^[\p{L}\p{N}][\p{L}\p{N} ._:@/+-]{0,99}$/u;
/** What is said of a name that is none. */
export const aliasRule =
  'is no alias: 1 to 100 letters, digits, spaces and . _ : @ / + -, a letter or digit first';
const alias = z.string().regex(aliasPattern, { error: aliasRule });

const key = z
  .union([
    z.strictObject({
      env: z
        .string()
        .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, {
          error: 'is no name of a variable: letters, digits and _, no digit first',
        })
        .describe('Name of an environment variable.'),
    }),
    z.strictObject({
      file: z.string().min(1).describe('Path of a file that holds the key and nothing else.'),
    }),
  ])
  .describe('Where the API key is. The key itself never stands in this file.');

const capabilities = z.strictObject({
  vision: z.boolean().optional().describe('It can see images.'),
  reasoning: z.boolean().optional().describe('It thinks before it answers.'),
  efforts: z
    .array(effort)
    .optional()
    .describe(
      'The efforts it knows. Others are rounded up to the next of these. Without it no effort is sent.',
    ),
  parallelTools: z
    .boolean()
    .optional()
    .describe('False: it is told to call one tool at a time. Default true.'),
  streamOptions: z
    .boolean()
    .optional()
    .describe(
      'False: it is not asked to count tokens (`stream_options`). Default true; a refusal is remembered.',
    ),
  finishOptional: z
    .boolean()
    .optional()
    .describe('True: its stream may end without a finish reason and without [DONE]. Default false.'),
  reasoningStartsOpen: z
    .boolean()
    .optional()
    .describe(
      'True: its text begins inside of a thought, and only the closing tag is written. Default false.',
    ),
  replayReasoning: z
    .boolean()
    .optional()
    .describe('True: it is told again what it thought. Default false; a demand for it is remembered.'),
  emptyText: z
    .enum(['null', 'empty', 'absent'])
    .optional()
    .describe('What stands for the text of an answer that has only tool calls. Default null.'),
  outputField: z
    .enum(['max_completion_tokens', 'max_tokens'])
    .optional()
    .describe('The name of the field for `maxOutput` in a chat completion. Default max_completion_tokens.'),
});

const model = z.strictObject({
  endpoint: z
    .url({
      protocol: /^https?$/,
      error: 'is no http or https URL: write it with its beginning, as in "http://127.0.0.1:11434/v1"',
    })
    .describe('Base URL, usually ends in /v1, for example http://127.0.0.1:11434/v1.'),
  model: z.string().min(1).max(500).describe('Name of the model at the endpoint.'),
  key: key.optional(),
  dialect: z
    .enum(['chat', 'responses'])
    .optional()
    .describe(
      'chat: chat completions, which nearly every endpoint speaks; responses: the OpenAI Responses API. Default chat.',
    ),
  fallbacks: z
    .array(z.string())
    .optional()
    .describe('Aliases that are asked in its place when it fails, in order.'),
  window: tokens.optional().describe('Tokens it can read at once. Without it the endpoint is asked.'),
  maxOutput: tokens.optional().describe('Most tokens of one answer. Without it none is sent.'),
  temperature: z.number().min(0).max(2).optional().describe('Used where a workstream sets none.'),
  effort: effort.optional().describe('How hard it thinks, where a workstream does not say.'),
  concurrency: z
    .int()
    .min(1)
    .max(10_000)
    .optional()
    .describe('Calls at the same time; others wait. Without it: no bound.'),
  price: z
    .strictObject({
      input: dollars.describe('Tokens read.'),
      output: dollars.describe('Tokens written.'),
      cachedInput: dollars
        .optional()
        .describe('Tokens read from the provider’s cache. Without it: as `input`.'),
    })
    .optional()
    .describe('United States dollars per million tokens.'),
  capabilities: capabilities.optional(),
});

export const modelFile = z
  .strictObject({
    $schema: z.string().optional(),
    default: z.string().optional().describe('Alias for workstreams that name none. Without it: the first.'),
    models: z.record(alias, model).describe('The models, by alias.'),
    instructions: z
      .string()
      .max(20_000)
      .optional()
      .describe('What every model is told before each conversation, beside what Weir says itself.'),
  })
  .describe('The models of a Weir server, and what they are told.');

/** What may be said at a place of the file, as far as it is an object with settings of fixed names. */
export function settingsAt(path: readonly PropertyKey[]): readonly string[] {
  const [top, , within] = path;
  if (path.length === 0) return Object.keys(modelFile.shape);
  if (top !== 'models') return [];
  if (path.length === 2) return Object.keys(model.shape);
  if (path.length !== 3) return [];
  if (within === 'capabilities') return Object.keys(capabilities.shape);
  if (within === 'key') return key.options.flatMap((option) => Object.keys(option.shape));
  return within === 'price' ? Object.keys(model.shape.price.unwrap().shape) : [];
}

/** The parts of an entry that can be looked at each by itself, whatever is wrong with the others. */
export const partsOfEntry = { key, effort } as const;

export type ModelFile = z.output<typeof modelFile>;
export type ModelEntry = ModelFile['models'][string];

/** The word of the file for each effort; the same letters. */
export const effortOf = (word: z.output<typeof effort>): Effort =>
  word.toUpperCase() as Uppercase<typeof word>;

/** The JSON schema of the file, draft 2020-12. */
export const modelFileSchema = (): unknown => z.toJSONSchema(modelFile, { io: 'input' });
