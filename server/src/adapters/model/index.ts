/**
 * Owns: the models of this server, put together: those of `weir.config.json`, the endpoint of the environment or the
 * one that was found, and the demo. Does not own: reading the environment (`config.ts`).
 *
 * Invariants: what a look at an endpoint found stands against its models until an answer says otherwise, and names none
 * that is not there, or set up anew since; the demo is
 * always there and never the default when there is a language model; a description names
 * model and host, never a credential.
 */
import type { Clock } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import type { Model, ModelInfo } from '../../ports/model.ts';
import { usualTraits, type Binding } from './binding.ts';
import { fixedBindings, type BindingSource } from './bindings.ts';
import { checkModels, warningOf, type Finding } from './choose.ts';
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
   * One sentence each: that `weir.config.json` is not what serves; and what a look at the endpoints found against them,
   * at start and when models are set up, until its model answers or is set up anew.
   */
  warnings(): readonly string[];
  /** What stood against the endpoints at start, when all of them were asked, in the background. Never rejects. */
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
  let found: readonly Finding[] = [];
  const looked = new WeakSet<Binding>();
  const hasAnswered = new WeakSet<Binding>();
  const plane = createPlane({
    clock,
    log,
    bindings: source,
    onAccepted(binding) {
      hasAnswered.add(binding);
      void windows.answered(binding);
    },
  });

  /** What is left of findings: the file may have changed since, and while an endpoint was asked. */
  function left(findings: readonly Finding[]): readonly Finding[] {
    const there = new Set(current().all);
    return findings.filter(({ of }) => of.some((binding) => there.has(binding)));
  }

  /** What they say of the models that are there. */
  function warningsOf(findings: readonly Finding[]): readonly string[] {
    const there = new Set(current().all);
    return findings
      .map((finding) => warningOf({ ...finding, of: finding.of.filter((binding) => there.has(binding)) }))
      .filter((warning) => warning !== null);
  }

  function note(more: readonly Finding[]): readonly string[] {
    found = left([...found, ...more]);
    return warningsOf(more);
  }

  /** Asks the endpoints of those that were not looked at as they are now, in the background. Never rejects. */
  function look(): Promise<readonly string[]> {
    const fresh = current().all.filter((binding) => binding !== own && !looked.has(binding));
    for (const binding of fresh) looked.add(binding);
    return checkModels({ clock }, fresh).then(note);
  }

  const checks = [
    (deps.checked ?? Promise.resolve(null)).then((warning) =>
      note(warning === null || own === null ? [] : [{ of: [own], complaint: () => warning, away: false }]),
    ),
    look(),
  ];
  file?.onChange(() => {
    void look().then((warnings) => {
      for (const warning of warnings) log.warn({ sentence: warning }, 'model set up, and not well');
    });
  });

  /** Nobody has seen since that it is otherwise. That a neighbour answers says only that the endpoint is there. */
  function standing(models = plane.list()): readonly Finding[] {
    const healthy = new Set(models.flatMap((m) => (m.health === 'HEALTHY' ? [m.alias] : [])));
    const there = new Set(current().all);
    const answers = (binding: Binding): boolean => there.has(binding) && healthy.has(binding.alias);
    return left(found).filter(
      ({ of, away }) => !of.some((binding) => hasAnswered.has(binding) || (away && answers(binding))),
    );
  }

  /** Of a model whose calls have told nothing, what the look at its endpoint did. */
  function list(): readonly ModelInfo[] {
    const models = plane.list();
    const against = standing(models);
    const complaintOf = (alias: string): string | null => {
      const binding = current().all.find((b) => b.alias === alias);
      const complaint = binding && against.find(({ of }) => of.includes(binding))?.complaint(binding);
      return complaint == null ? null : `Its endpoint was asked for its list of models. ${complaint}`;
    };
    return models.map((m) => (m.problem === null ? { ...m, problem: complaintOf(m.alias) } : m));
  }

  return {
    ...plane,
    list,
    warnings: () => [
      ...[file?.problem() ?? null].filter((problem) => problem !== null),
      ...warningsOf(standing()),
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
