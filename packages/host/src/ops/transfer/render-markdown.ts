import { isCostlyMarkdown } from "@holdfast/client";
import { Marked } from "marked";

import { escapeHtml } from "../../util/escape-html.ts";

/** marked can need quadratic time for a line, and nothing meant to be read is that long. */
const maxLength = 200_000;
const maxLineLength = 10_000;

/** The title of the document is its only first heading, and its messages have none of the second level. */
const headingOffset = 2;
const deepestHeading = 6;

const marked = new Marked({
  renderer: {
    // What was written as HTML is shown, not interpreted.
    html: ({ text }) => escapeHtml(text),
    heading({ tokens, depth }) {
      const level = Math.min(depth + headingOffset, deepestHeading);
      return `<h${level}>${this.parser.parseInline(tokens)}</h${level}>\n`;
    },
    link({ href, tokens }) {
      const label = this.parser.parseInline(tokens);
      const target = safeLink(href);
      return target === null ? label : `<a href="${escapeHtml(target)}">${label}</a>`;
    },
    // The document refers to no other address.
    image: ({ text }) => escapeHtml(text),
  },
});

function safeLink(href: string): string | null {
  const url = URL.parse(href);
  return url !== null && ["http:", "https:", "mailto:"].includes(url.protocol) ? url.href : null;
}

/** Markdown as HTML without anything active; `null` for a text that is better shown as it is. */
export function renderMarkdown(text: string): string | null {
  if (text.length > maxLength || text.split("\n").some((line) => line.length > maxLineLength))
    return null;
  if (isCostlyMarkdown(text)) return null;
  return marked.parse(text, { async: false });
}
