/**
 * Owns: making text that PostgreSQL can store (D-51): NUL and lone surrogates become U+FFFD.
 */

const storableText = (text: string): string => {
  const whole = text.isWellFormed() ? text : text.toWellFormed();
  return whole.includes('\0') ? whole.replaceAll('\0', '\ufffd') : whole;
};

/** The same value with every string in it storable; keys included. Shares what needs no change. */
export function storable<T>(value: T): T {
  if (typeof value === 'string') return storableText(value) as T;
  if (Array.isArray(value)) {
    const mapped: readonly unknown[] = value.map((item: unknown) => storable(item));
    return (mapped.every((item, i) => item === value[i]) ? value : mapped) as T;
  }
  if (value === null || typeof value !== 'object') return value;
  const entries = Object.entries(value).map(([k, v]) => [storableText(k), storable(v as unknown)] as const);
  const same = entries.every(([k, v]) => k in value && (value as Record<string, unknown>)[k] === v);
  return same ? value : (Object.fromEntries(entries) as T);
}
