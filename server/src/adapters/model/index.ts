/**
 * Owns: the models of this server, put together: those of `weir.config.json`, the endpoint of the environment or the
 * one that was found, and the demo. Does not own: reading the environment (`config.ts`).
 *
 * Invariants: the demo is always there and never the default when there is a language model; a description names
 * model and host, never a credential.
 */
import type { Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import type { Model } from '../../ports/model.ts';
import { usualTraits, type Binding } from './binding.ts';
import { fixedBindings, type BindingSource } from './bindings.ts';
import { checkModels } from './choose.ts';
import { demoAlias } from './demo.ts';
import type { DiscoveredEndpoint } from './discover.ts';
import { openAiModel, openAiUrl, parseEndpoint, type ModelConfig } from './endpoint.ts';
import { watchModelFile, type ModelFileDeps } from './file/watch.ts';
import { createPlane } from './plane.ts';
import { createWindows } from './windows.ts';

export { chooseModel } from './choose.ts';
export type { DiscoveredEndpoint } from './discover.ts';
export type { ModelConfig } from './endpoint.ts';
export { readSmallFile } from './file/text.ts';
export { readModelFile } from './file/watch.ts';

/** Servers with one model accept any name; others answer which models they have. */
const unnamedModel = 'default';

export interface Models extends Model {
  /**
   * One sentence each: that `weir.config.json` is not what serves; and of the endpoints that were asked at start what
   * stood against them, until its model answers or is set up anew.
   */
  warnings(): readonly string[];
  /** What stood against the endpoints, when all of them were asked, in the background. Never rejects. */
  readonly checked: Promise<readonly string[]>;
  /** What every model is told, by the file; null: nothing. */
  instructions(): string | null;
  /** Stops looking at the file. */
  stop(): void;
}

/**
 * The models of the file, if one is named, and the configured endpoint (with a key or a base URL), else the discovered
 * one, and the demo. Throws when `baseUrl` is no http(s) URL: the configuration is checked before.
 */
export function createModels(deps: {
  readonly clock: Clock;
  readonly log: Log;
  readonly config: ModelConfig;
  readonly discovered?: DiscoveredEndpoint | null;
  /** What stands against the endpoint of the configuration, as `chooseModel` finds it. */
  readonly checked?: Promise<string | null>;
  readonly file?: Pick<ModelFileDeps, 'path' | 'env' | 'readText'>;
}): Models {
  const { clock, log } = deps;
  const own = ownBinding(deps);
  const others = own ? [own] : [];
  const windows = createWindows({ clock });
  const file = deps.file ? watchModelFile({ clock, log, others, ...deps.file }) : null;
  const current = file ? () => file.current() : fixedBindings(others).current;
  const source: BindingSource = {
    current,
    onChange: (callback) => file?.onChange(callback),
    windowOf: (binding) => windows.of(binding),
  };
  const learn = (): void => void windows.learn(current().all);
  learn();
  file?.onChange(learn);
  const plane = createPlane({ clock, log, bindings: source });
  let found: Awaited<ReturnType<typeof checkModels>> = [];
  const note = (more: typeof found): readonly string[] => {
    found = [...found, ...more];
    return more.map(({ warning }) => warning);
  };
  const ofFile = current().all.filter((binding) => binding !== own);
  const checks = [
    (deps.checked ?? Promise.resolve(null)).then((warning) =>
      note(warning === null ? [] : [{ of: own ? [own] : [], warning }]),
    ),
    checkModels({ clock }, ofFile).then(note),
  ];
  /** Nobody has seen since that it is otherwise. */
  const stillHolds = ({ of }: (typeof found)[number]): boolean => {
    const healthy = new Set(plane.list().flatMap((m) => (m.health === 'HEALTHY' ? [m.alias] : [])));
    return of.some((binding) => current().all.includes(binding) && !healthy.has(binding.alias));
  };
  return {
    ...plane,
    async call(...asked) {
      const outcome = await plane.call(...asked);
      const answered = outcome.type === 'answered' && current().all.find((b) => b.alias === outcome.alias);
      if (answered) void windows.answered(answered);
      return outcome;
    },
    warnings: () => [
      ...[file?.problem() ?? null].filter((problem) => problem !== null),
      ...found.filter(stillHolds).map(({ warning }) => warning),
    ],
    instructions: () => file?.instructions() ?? null,
    checked: Promise.all(checks).then((sentences) => sentences.flat()),
    stop: () => file?.stop(),
  };
}

/** The model that the environment or a local server gives. */
function ownBinding({ config, discovered }: Parameters<typeof createModels>[0]): Binding | null {
  const apiKey = config.apiKey?.trim() || undefined;
  const baseUrl = config.baseUrl?.trim() || (apiKey ? openAiUrl : discovered?.baseUrl);
  if (!baseUrl) return null;
  const configured = Boolean(config.baseUrl?.trim()) || apiKey !== undefined;
  const model = configured
    ? config.model?.trim() || (baseUrl === openAiUrl ? openAiModel : unnamedModel)
    : (discovered?.model ?? unnamedModel);
  const endpoint = parseEndpoint(baseUrl, apiKey);
  if (!endpoint) throw new Error('OPENAI_BASE_URL is not an http or https URL');
  return {
    // A model that is called demo must not be taken for the demo.
    alias: model === demoAlias ? `${demoAlias}@${endpoint.host}` : model,
    source: 'ENVIRONMENT',
    endpoint,
    model,
    dialect: 'CHAT',
    fallbacks: [],
    window: null,
    maxOutput: null,
    temperature: null,
    effort: null,
    concurrency: null,
    price: null,
    traits: usualTraits,
  };
}
