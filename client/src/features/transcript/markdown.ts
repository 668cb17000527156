/**
 * Owns: markdown of a model to markup that is safe to show. All of it is hostile.
 *
 * Invariants: only the tags and attributes listed here come through; links lead out, to http, https and mailto only, in
 * a new tab that knows nothing of us; nothing is loaded by showing it, so a picture is a link to it; a block of text
 * whose source is the same is not rendered again.
 */
import DOMPurify from 'dompurify';
import { Marked, type Token, type Tokens } from 'marked';

const allowed = {
  ALLOWED_TAGS: [
    ...['p', 'br', 'hr', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'blockquote', 'pre', 'code', 'kbd'],
    ...['strong', 'em', 'del', 's', 'sub', 'sup', 'ul', 'ol', 'li', 'a', 'span'],
    ...['table', 'thead', 'tbody', 'tr', 'th', 'td'],
  ],
  ALLOWED_ATTR: ['href', 'title', 'start', 'align', 'target', 'rel'],
  ALLOWED_URI_REGEXP: /^(?:https?:\/\/|mailto:)/i,
  ALLOW_DATA_ATTR: false,
  ALLOW_ARIA_ATTR: false,
};

const purify = DOMPurify();
if (purify.isSupported)
  purify.addHook('afterSanitizeAttributes', (node) => {
    if (node.nodeName !== 'A' || !node.hasAttribute('href')) return;
    node.setAttribute('target', '_blank');
    node.setAttribute('rel', 'noopener noreferrer');
  });

const marked = new Marked({
  gfm: true,
  breaks: true,
  renderer: {
    image({ href, text }: Tokens.Image) {
      return `<a href="${escape(href)}">${escape(text || 'picture')}</a>`;
    },
    checkbox({ checked }: Tokens.Checkbox) {
      return checked ? '☑ ' : '☐ ';
    },
    // What a model writes as HTML is shown as text: it is talking about tags more often than using them.
    html({ text }: Tokens.HTML | Tokens.Tag) {
      return escape(text);
    },
  },
});

/** The top-level blocks of a text. While it streams only the last ones change. */
export const blocksOfMarkdown = (text: string): readonly Token[] =>
  marked.lexer(text).filter((token) => token.type !== 'space' && token.type !== 'def');

/** Markup of one block, safe to set as HTML. */
export function htmlOf(token: Token): string {
  // Without a document nothing is sanitised; then nothing is shown, either.
  if (!purify.isSupported) return '';
  return purify.sanitize(marked.parser([token]), allowed);
}

export const escape = (text: string): string => text.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
