/**
 * Owns: what endpoints were seen to say when a conversation is too long, when an answer may not be as long as was asked,
 * and when they mean neither. Beside each stands where it was seen: a public repository, or a documentation.
 */
import { describe, expect, test } from 'vitest';
import { remedies } from '../../../src/core/models/fault.ts';
import { faultFromDescription, type FaultKind, type FaultScope } from '../../../src/adapters/model/faults.ts';
import { answerLimitIn, saysTooLong } from '../../../src/adapters/model/refusals.ts';

const scope: FaultScope = { alias: 'm1', host: 'models.test:1', model: 'm1', secrets: [], source: 'FILE' };
const kindOf = (body: unknown, status: number | null): FaultKind =>
  faultFromDescription(scope, body, status).kind;

const tooLong: Readonly<Record<string, readonly (string | object)[]>> = {
  // openai/openai-python, earendil-works/pi
  OpenAI: [
    'Your input exceeds the context window of this model. Please adjust your input and try again.',
    "This model's maximum context length is 4097 tokens. However, your messages resulted in 4294 tokens. Please reduce the length of the messages.",
    "This model's maximum context length is 4097 tokens, however you requested 4569 tokens (3545 in your prompt; 1024 for the completion). Please reduce your prompt; or completion length.",
    'Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 509178 tokens. Please reduce the length of the messages.',
    { error: { message: '', type: 'invalid_request_error', code: 'context_length_exceeded' } },
  ],
  // daisuke-awaji/moca, stackblitz/bolt.new
  Anthropic: [
    'prompt is too long: 202128 tokens > 200000 maximum',
    'input length and `max_tokens` exceed context limit: 199000 + 8192 > 200000, decrease input length or `max_tokens` and try again',
  ],
  // lmstudio-ai/lmstudio-bug-tracker, Gitlawb/openclaude, anomalyco/opencode
  'LM Studio': [
    {
      error:
        'Trying to keep the first 111490 tokens when context the overflows. However, the model is loaded with context length of only 32768 tokens, which is not enough. Try to load the model with a larger context length, or provide a shorter input',
    },
    {
      error:
        'The number of tokens to keep from the initial prompt is greater than the context length. Try to load the model with a larger context length, or provide a shorter input',
    },
    {
      error:
        'The number of tokens to keep from the initial prompt is greater than the context length (n_keep: 13055>= n_ctx: 4096). Try to load the model with a larger context length, or provide a shorter input.',
    },
    'Cannot truncate prompt with n_keep (15028) >= n_ctx (7424)',
  ],
  // unslothai/unsloth, langchain-ai/deepagents, EleutherAI/lm-evaluation-harness, vllm-project/vllm
  vLLM: [
    'The decoder prompt (length 322) is longer than the maximum model length of 256. Make sure that `max_model_len` is no smaller than the number of text tokens.',
    {
      detail:
        '[address=0.0.0.0:43769, pid=1065] The decoder prompt (length 66501) is longer than the maximum model length of 65536.',
    },
    'Prompt length of 2048 is longer than the maximum model length of 2048.',
    "Input length (11680) exceeds model's maximum context length (4096).",
    "'max_tokens' or 'max_completion_tokens' is too large: 64000. This model's maximum context length is 64001 tokens and your request has 64235 input tokens (64000 > 64001 - 64235).",
    'max_tokens must be at least 1, got -7584. (parameter=max_tokens, value=-7584)',
  ],
  // sgl-project/sglang
  SGLang: [
    "The input (85050 tokens) is longer than the model's context length (32768 tokens).",
    'Input length (40960 tokens) exceeds the maximum allowed length (32763 tokens). Use a shorter input or enable --allow-auto-truncate.',
    "Requested token count exceeds the model's maximum context length of 4096 tokens. You requested a total of 4320 tokens: 1320 tokens from the input messages and 3000 tokens for the completion. Please reduce the number of tokens in the input messages or the completion to fit within the limit.",
  ],
  // earendil-works/pi
  Together: ["The input (516368 tokens) is longer than the model's context length (262144 tokens)."],
  // bytedance/UI-TARS-desktop, huggingface/text-generation-inference
  TGI: [
    {
      error:
        'Input validation error: `inputs` tokens + `max_new_tokens` must be <= 65537. Given: 79993 `inputs` tokens and 1024 `max_new_tokens`',
      error_type: 'validation',
    },
    'Input validation error: `inputs` must have less than 1024 tokens. Given: 1872',
  ],
  // cline/cline
  xAI: [
    {
      code: 'Client specified an invalid argument',
      error: "This model's maximum prompt length is 131072 but the request contains 136973 tokens.",
    },
  ],
  // dyad-sh/dyad, ollama/ollama
  Ollama: [
    {
      error:
        'prompt too long; exceeded max context length by 540451 tokens (ref: 00ad71bb-fea0-4639-9dc9-3ad800192057)',
    },
    'the input length exceeds the context length',
  ],
  // microsoft/copilot-intellij-feedback
  Copilot: [
    'prompt token count of 138898 exceeds the limit of 64000',
    { error: { message: 'no', code: 'model_max_prompt_tokens_exceeded' } },
  ],
  // MoonshotAI/kimi-cli, MoonshotAI/kimi-code
  Kimi: [
    'Invalid request: Your request exceeded model token limit: 262144 (requested: 269030)',
    'total message size 2100954 exceeds limit 2097152',
  ],
  // MiniMax-AI/MiniMax-M2
  MiniMax: ['invalid params, context window exceeds limit (2013)'],
  // zeroclaw-labs/zeroclaw
  'z.ai': [{ error: { code: '1261', message: 'Prompt exceeds max length' } }],
  // QwenLM/qwen-code
  DashScope: ['<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 204800]'],
  // docs.cohere.com, cohere-ai/sandbox-topically
  Cohere: [
    {
      message:
        'too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 4292. Try using a shorter prompt, or enabling prompt truncating. See https://docs.cohere.com/reference/generate for more details.',
    },
    'too many tokens: total number of tokens (prompt and prediction) cannot exceed 2048 - received 6354. Try using a shorter prompt or a smaller max_tokens value.',
  ],
  // earendil-works/pi
  Mistral: [
    {
      object: 'error',
      message:
        'Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length',
      type: 'invalid_request_prompt',
      code: '3051',
    },
  ],
  // ggml-org/llama.cpp, abetlen/llama-cpp-python
  'llama.cpp': [
    {
      error: {
        code: 400,
        message: 'the request exceeds the available context size, try increasing it',
        type: 'exceed_context_size_error',
        n_prompt_tokens: 14_429,
        n_ctx: 8_192,
      },
    },
    'request (60179 tokens) exceeds the available context size (60160 tokens), try increasing it',
    'Context size has been exceeded.',
    'Requested tokens (2285) exceed context window of 2048',
  ],
  // google-gemini/gemini-cli
  Gemini: [
    [
      {
        error: {
          code: 400,
          message: 'The input token count (1200293) exceeds the maximum number of tokens allowed (1048576).',
          status: 'INVALID_ARGUMENT',
        },
      },
    ],
    'Unable to submit request because the input token count is 135538 but model only supports up to 131072. Reduce the input token count and try again.',
  ],
  // aws-samples/bedrock-chat
  Bedrock: ['The model returned the following errors: Input is too long for requested model.'],
  // MoonshotAI/kimi-code, cline/cline, earendil-works/pi
  OpenRouter: [
    "This endpoint's maximum context length is 262144 tokens. However, you requested about 264896 tokens (52139 of text input, 12757 of tool input, 200000 in the output). Please reduce the length of either one.",
    {
      error: {
        message: 'Provider returned error',
        code: 400,
        metadata: {
          raw: '{"error":{"message":"This model\'s maximum context length is 262144 tokens. However, your messages resulted in 262897 tokens. Please reduce the length of the messages.","type":"Bad Request","code":400}}',
          provider_name: 'Nvidia',
        },
      },
    },
    {
      error: {
        message: 'Provider returned error',
        code: 400,
        metadata: { raw: 'Input length 131393 exceeds the maximum allowed input length of 131040 tokens.' },
      },
    },
  ],
  // earendil-works/pi
  Groq: ['Please reduce the length of the messages or completion.'],
  // getkimchi/kimchi
  LiteLLM: [
    {
      detail:
        'ContextWindowExceededError: Hosted_vllmException - {"object":"error","message":"The input (1492905 tokens) is longer than the model\'s context length (1048576 tokens).","type":"BadRequestError","param":null,"code":400}',
    },
  ],
  // langgenius/dify
  Volcengine: ['Input length 203743 exceeds the maximum length 202752'],
  // jundot/omlx, ddalcu/mlx-serve
  MLX: [
    { detail: 'Prompt too long: 32799 tokens exceeds max context window of 32768 tokens' },
    'Prompt exceeds maximum context length',
  ],
};
const rows = Object.entries(tooLong).flatMap(([who, bodies]) => bodies.map((body) => [who, body] as const));

describe('A conversation that is too long (A35)', () => {
  test.each(rows)('is told as %s says it: %j', (_, said) => {
    const body =
      typeof said === 'string' ? { error: { message: said, type: 'invalid_request_error' } } : said;
    for (const status of [400, 422, 500, null]) expect(kindOf(body, status)).toBe('CONTEXT_OVERFLOW');
  });

  test.each(rows)('is not what a spent limit, a bill or a refused key is about: %s, %j', (_, said) => {
    const body = typeof said === 'string' ? { error: { message: said } } : said;
    expect(kindOf(body, 429)).toBe('RATE_LIMIT');
    expect(kindOf(body, 402)).toBe('QUOTA');
    expect(kindOf(body, 401)).toBe('AUTHENTICATION');
  });

  // nginx, docs.anthropic.com
  test.each([
    '<html><head><title>413 Request Entity Too Large</title></head></html>',
    { type: 'error', error: { type: 'request_too_large', message: 'Request exceeds the maximum size' } },
    {},
  ])('is what HTTP 413 means, and who is said to refuse it is no model: %j', (body) => {
    const fault = faultFromDescription(scope, body, 413);
    expect(fault.kind).toBe('CONTEXT_OVERFLOW');
    expect(fault.message).toMatch(
      /is larger than it takes \(HTTP 413.*\); start a new workstream, or let the server at its "endpoint" in weir\.config\.json take larger requests\.$/,
    );
  });

  test('is told with the words of the endpoint behind a router', () => {
    const { message } = faultFromDescription(
      scope,
      { error: { message: 'Provider returned error', metadata: { raw: 'Prompt exceeds max length' } } },
      400,
    );
    expect(message).toContain('(HTTP 400, Provider returned error: Prompt exceeds max length)');
  });
});

describe('A request that alone is more than a rate limit lets through', () => {
  const tooLarge = (limit: string, requested: string): string =>
    `Request too large for model \`m\` in organization \`org_01\` on tokens per minute (TPM): Limit ${limit}, Requested ${requested}, please reduce your message size and try again.`;
  const body = (message: string): object => ({
    error: { message, type: 'tokens', code: 'rate_limit_exceeded' },
  });

  test.each([413, 429, 503, null])(
    'is asked of another model at once, never again of this one, and no overflow (D-37; broke: it was tried four times): HTTP %j',
    (status) => {
      const { kind } = faultFromDescription(scope, body(tooLarge('6000', '12000')), status, 20_000);
      expect([kind, remedies[kind]]).toEqual(['OVER_LIMIT', 'FALLBACK']);
    },
  );

  test('says how much is let through, and what to do, however long it is told to wait', () => {
    const fault = faultFromDescription(scope, body(tooLarge('6000', '12000')), 429, 3_600_000);
    expect(fault).toMatchObject({ status: 429, retryAfterMs: null });
    expect(fault.message).toMatch(
      /refused because the request alone is more than its rate limit lets through \(HTTP 429, .*Limit 6000, Requested 12000.*\); set its "window" in weir\.config\.json to no more than that limit, choose another model, go back in the conversation, or have the limit raised\.$/,
    );
  });

  test.each([
    ['that what was used before leaves no room for', tooLarge('6000', '6000')],
    ['that what was used before leaves no room for', tooLarge('30,000', '6,000')],
    [
      'that a limit was reached before, however much it asks for (G11)',
      'Rate limit reached: maximum number of tokens allowed per minute (TPM): Limit 30000, Requested 31200',
    ],
    [
      'that a limit was reached before (console.groq.com)',
      'Rate limit reached for model `m` on tokens per minute (TPM): Limit 6000, Used 5000, Requested 2000. Please try again in 10s.',
    ],
  ])('is not one %s: that is asked again', (_, message) => {
    const fault = faultFromDescription(scope, body(message), 429, 20_000);
    expect([fault.kind, remedies[fault.kind], fault.retryAfterMs]).toEqual(['RATE_LIMIT', 'RETRY', 20_000]);
  });

  // 413 is not among what D-37 lets be asked again, whatever it says.
  test.each(['Rate limit reached', 'Too many tokens per minute'])(
    'is one with HTTP 413 that says "%s"',
    (said) => expect(kindOf(body(said), 413)).toBe('OVER_LIMIT'),
  );
});

const otherwise: readonly (readonly [FaultKind, number | null, string, string | object])[] = [
  [
    'OVER_LIMIT',
    413,
    'ITSpecialist111/ai_automation_suggester',
    {
      error: {
        message:
          'Request too large for model `llama-3.3-70b-versatile` in organization `org_01` service tier `on_demand` on tokens per minute (TPM): Limit 6000, Requested 14810, please reduce your message size and try again.',
        type: 'tokens',
        code: 'rate_limit_exceeded',
      },
    },
  ],
  [
    'OVER_LIMIT',
    null,
    'platform.openai.com',
    {
      error: {
        message:
          'Request too large for gpt-4o in organization org-abc on tokens per min (TPM): Limit 30000, Requested 40000. The input or output tokens must be reduced in order to run successfully.',
        type: 'tokens',
        code: 'rate_limit_exceeded',
      },
    },
  ],
  [
    'BAD_REQUEST',
    400,
    'docs.anthropic.com',
    "This request would exceed your organization's rate limit of 30,000 input tokens per minute",
  ],
  ['BAD_REQUEST', 400, 'earendil-works/pi', 'Too many tokens, please wait before trying again.'],
  [
    'QUOTA',
    402,
    'continuedev/continue',
    'Prompt tokens limit exceeded: 36163 > 29652. To increase, visit https://openrouter.ai/settings/credits and upgrade to a paid account',
  ],
  [
    'BAD_REQUEST',
    400,
    'platform.openai.com',
    'You exceeded your current quota, please check your plan and billing details.',
  ],
  [
    'BAD_REQUEST',
    400,
    'platform.openai.com',
    'Could not finish the message because max_tokens or model output limit was reached. Please try again with higher max_tokens.',
  ],
  [
    'BAD_REQUEST',
    400,
    'gpustack/gpustack',
    'Illegal param: "max_completion_tokens" or "max_tokens" must be less than or equal to the model\'s context length.',
  ],
  [
    'BAD_REQUEST',
    400,
    'platform.openai.com',
    "Invalid 'messages[1].tool_calls[0].id': string too long. Expected a string with maximum length 40, but got a string with length 41 instead.",
  ],
  [
    'BAD_REQUEST',
    400,
    'platform.openai.com',
    "Invalid 'tools': array too long. Expected an array with maximum length 128, but got an array with length 140 instead.",
  ],
  [
    'BAD_REQUEST',
    400,
    'docs.anthropic.com',
    'messages.0.content.1.image.source.base64: image exceeds 5 MB maximum: 6000000 bytes > 5242880 bytes',
  ],
  ['BAD_REQUEST', 422, 'pydantic/pydantic', 'Input should be less than or equal to 2'],
  ['TIMEOUT', 504, 'a gateway', 'Your request took too long to process. Please try again.'],
  ['TIMEOUT', 408, 'a gateway', 'Your request took longer than 60 seconds and was canceled.'],
  ['OVERLOADED', 500, 'a gateway', 'The model took too long to process the prompt.'],
  ['OVERLOADED', 503, 'a gateway', 'The server took too long to respond to your request.'],
  ['BAD_REQUEST', 400, 'a gateway', 'Unrecognized request argument supplied: prompt_token_ids'],
  ['BAD_REQUEST', 422, 'pydantic/pydantic', 'body: max_completion_tokens: Extra inputs are not permitted'],
  [
    'BAD_REQUEST',
    400,
    'platform.openai.com',
    "messages with role 'tool' must be a response to a preceding message with 'tool_calls'.",
  ],
  [
    'CONTENT_FILTER',
    400,
    'Azure',
    { error: { message: 'Your prompt was filtered.', code: 'content_filter' } },
  ],
];

/** What was said of an answer that may not be as long as the 32,000 tokens that were asked for, and how long it may be. */
const answerTooLong: readonly (readonly [string, number | null, string])[] = [
  ['deepseek-ai/DeepSeek-V3', 8_192, 'Invalid max_tokens value, the valid range of max_tokens is [1, 8192]'],
  [
    'ChatGPTNextWeb/NextChat',
    4_096,
    'max_tokens is too large: 32000. This model supports at most 4096 completion tokens, whereas you provided 32000.',
  ],
  [
    'docs.anthropic.com',
    8_192,
    'max_tokens: 32000 > 8192, which is the maximum allowed number of output tokens for claude-3-5-sonnet-20241022',
  ],
  [
    'cloud.google.com',
    8_192,
    'Unable to submit request because it has a maxOutputTokens value of 32000 but the supported range is from 1 (inclusive) to 8193 (exclusive). Update the value and try again.',
  ],
  [
    'Alishahryar1/free-claude-code',
    16_384,
    '`max_completion_tokens` must be less than or equal to `16384`, the maximum value for `max_completion_tokens` is less than the `context_window` for this model',
  ],
  [
    'open-webui/open-webui',
    8_192,
    '<400> InternalError.Algo.InvalidParameter: Range of max_tokens should be [1, 8192]',
  ],
  [
    'huggingface/text-generation-inference',
    4_096,
    'Input validation error: `max_new_tokens` must be <= 4096. Given: 32000',
  ],
  [
    'docs.cohere.com',
    4_096,
    'too many tokens: max tokens must be less than or equal to 4096, the maximum output for this model',
  ],
  ['a gateway', 8_192, "max_tokens (32000) exceeds model's maximum output tokens (8,192)"],
  ['a gateway', 8_192, 'max_tokens must be greater than 0 and less than 8193'],
  ['a gateway', 8_192, 'max_output_tokens exceeds the limit of 8_192'],
  ['a gateway', null, 'max_tokens is too large'],
  ['a gateway', null, 'max_tokens may not be greater than 64000, not even 50000'],
  ['a gateway', null, 'Unsupported parameter: max_completion_tokens. Error 4001.'],
  ['a gateway', null, 'max_tokens must be at least 1'],
  [
    'gpustack/gpustack',
    null,
    'Illegal param: "max_completion_tokens" or "max_tokens" must be less than or equal to the model\'s context length.',
  ],
];

describe('What is no conversation that is too long', () => {
  test.each(otherwise)('is %s with status %s, as %s says: %j', (kind, status, _, said) => {
    expect(kindOf(typeof said === 'string' ? { error: { message: said } } : said, status)).toBe(kind);
  });

  test.each(answerTooLong)(
    'is an answer that is, as %s says, to be %s tokens at most: %s',
    (_, most, said) => {
      expect(kindOf({ error: { message: said } }, 400)).toBe('BAD_REQUEST');
      expect(answerLimitIn(said, 64, 32_000)).toBe(most);
    },
  );

  test.each(answerTooLong)('and what to do is to set that limit: %s, %s, %s', (_source, _most, said) => {
    expect(faultFromDescription(scope, { error: { message: said } }, 400).message).toMatch(
      /; set its "maxOutput" in weir\.config\.json to what this model takes, or leave it out\.$/,
    );
  });

  test.each(rows)('and of a conversation nothing is learned about the answer: %s, %j', (_, said) => {
    expect(answerLimitIn(JSON.stringify(said), 64, 32_000)).toBeNull();
  });

  test('a text that never comes to an end is read once', () => {
    for (const piece of ['max_tokens to ', 'prompt limit ', '[1, ', 'maximum ', '1,', 'exceeds '])
      expect(typeof saysTooLong(piece.repeat(100_000))).toBe('boolean');
    for (const piece of ['max_tokens to ', '[1, ', 'maximum ', '1,'])
      expect(answerLimitIn(`max_tokens ${piece.repeat(100_000)}`, 64, 32_000)).toBeNull();
  });
});
