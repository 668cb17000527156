/**
 * Owns: the settings of an endpoint, what is known about an endpoint, and keeping its credentials apart from everything that is shown.
 */

/** OPENAI_API_KEY, OPENAI_BASE_URL, WEIR_MODEL. */
export interface ModelConfig {
  readonly apiKey?: string | undefined;
  /** An http(s) URL; with a key alone, OpenAI's own. */
  readonly baseUrl?: string | undefined;
  readonly model?: string | undefined;
}

export const openAiUrl = 'https://api.openai.com/v1';
export const openAiModel = 'gpt-5-mini';

export interface Endpoint {
  /** Base URL without userinfo. */
  readonly baseUrl: string;
  /** Host and port, for people. */
  readonly host: string;
  /** Value of the Authorization header; null when none is sent. */
  readonly authorization: string | null;
  /** Texts that must never be shown. */
  readonly secrets: readonly string[];
}

/**
 * Reads a base URL and a key. Userinfo in the URL becomes basic authentication unless there is a key.
 * Answers null when the text is no http(s) URL.
 */
export function parseEndpoint(baseUrl: string, apiKey: string | undefined): Endpoint | null {
  if (!URL.canParse(baseUrl)) return null;
  const url = new URL(baseUrl);
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return null;
  const userinfo = [url.username, url.password].map(decode);
  const basic = userinfo.some((part) => part !== '')
    ? `Basic ${Buffer.from(userinfo.join(':')).toString('base64')}`
    : null;
  // A name without a password is one, as some services want their key.
  const alone = url.password === '' ? [url.username, userinfo[0] ?? ''] : [];
  const basicToken = basic?.slice('Basic '.length) ?? '';
  const queried = [...url.searchParams].flatMap(([name, value]) => (isSecret(name, value) ? [value] : []));
  const within = url.pathname.split('/').map(decode).filter(looksRandom);
  const secrets = [
    apiKey ?? '',
    url.password,
    userinfo[1] ?? '',
    ...alone,
    basicToken,
    ...queried,
    ...within,
  ];
  url.username = '';
  url.password = '';
  // It is never sent, and would end up behind the path of a call.
  url.hash = '';
  return {
    baseUrl: url.href.replace(/\/+$/, ''),
    host: url.host,
    authorization: apiKey ? `Bearer ${apiKey}` : basic,
    secrets: [...new Set(secrets)].filter((secret) => secret !== ''),
  };
}

/** Address of a path at an endpoint, behind which the endpoint's own parameters stay. */
export function addressOf(baseUrl: string, path: string): string {
  const url = new URL(baseUrl);
  url.pathname = `${url.pathname.replace(/\/+$/, '')}${path}`;
  return url.href;
}

/** Whether a parameter of an address may be a credential: a version, or what is only switched on, is none. */
const isSecret = (name: string, value: string): boolean =>
  value.length >= 16 ||
  (value.length >= 4 && /key|token|secret|auth|pass|pwd|cred|jwt|session|sig|code/i.test(name));

/** Some gateways want their key in the path. The name of a deployment has words in it, and dashes between them. */
const looksRandom = (segment: string): boolean => /(?=[a-z]*\d)(?=\d*[a-z])[a-z\d_]{16,}/i.test(segment);

/** Userinfo may hold a stray `%`, which is then meant as it stands. */
function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
