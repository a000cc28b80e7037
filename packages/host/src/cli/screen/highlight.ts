import hljs from "highlight.js/lib/core";
import bash from "highlight.js/lib/languages/bash";
import cpp from "highlight.js/lib/languages/cpp";
import css from "highlight.js/lib/languages/css";
import diff from "highlight.js/lib/languages/diff";
import go from "highlight.js/lib/languages/go";
import java from "highlight.js/lib/languages/java";
import javascript from "highlight.js/lib/languages/javascript";
import json from "highlight.js/lib/languages/json";
import markdown from "highlight.js/lib/languages/markdown";
import python from "highlight.js/lib/languages/python";
import rust from "highlight.js/lib/languages/rust";
import sql from "highlight.js/lib/languages/sql";
import typescript from "highlight.js/lib/languages/typescript";
import xml from "highlight.js/lib/languages/xml";
import yaml from "highlight.js/lib/languages/yaml";
import type { Style } from "./paint.ts";
import type { Span } from "./wrap.ts";

/** The languages that the page highlights, too. */
const languages = {
  bash,
  c: cpp,
  css,
  diff,
  go,
  java,
  javascript,
  json,
  markdown,
  python,
  rust,
  sql,
  typescript,
  xml,
  yaml,
};
for (const [name, language] of Object.entries(languages)) hljs.registerLanguage(name, language);
hljs.registerAliases(["html", "svg", "vue"], { languageName: "xml" });
hljs.registerAliases(["shell", "console", "sh", "zsh"], { languageName: "bash" });
hljs.registerAliases(["jsonc", "json5"], { languageName: "json" });

const styles: Readonly<Record<string, Style>> = {
  keyword: "keyword",
  built_in: "keyword",
  literal: "number",
  number: "number",
  symbol: "number",
  string: "string",
  regexp: "string",
  comment: "dim",
  quote: "dim",
  meta: "dim",
  title: "name",
  section: "name",
  name: "name",
  attr: "name",
  attribute: "name",
  property: "name",
  addition: "good",
  deletion: "bad",
};

/** A line's colours depend on the lines before it; more than these are not looked at. */
const contextLines = 60;
const maxLength = 8_000;

/** Highlights a block of code line by line. */
export class CodeHighlighter {
  readonly #language: string | undefined;
  #before: string[] = [];

  /** `info` is what stands behind the opening fence. */
  constructor(info: string) {
    const [name = ""] = info.trim().split(/[\s,{:]/);
    this.#language = hljs.getLanguage(name) === undefined ? undefined : name;
  }

  /** The next line, which stays part of the block. */
  add(line: string): Span[] {
    const spans = this.look(line);
    this.#before = [...this.#before, line].slice(-contextLines);
    return spans;
  }

  /** The line as it looks now, while it is still being written. */
  look(line: string): Span[] {
    const code = [...this.#before, line].join("\n");
    if (this.#language === undefined || code.length > maxLength)
      return [{ text: line, styles: ["code"] }];
    const { value } = hljs.highlight(code, { language: this.#language, ignoreIllegals: true });
    return lastLine(value);
  }
}

const entities: Readonly<Record<string, string>> = {
  "&amp;": "&",
  "&lt;": "<",
  "&gt;": ">",
  "&quot;": '"',
  "&#x27;": "'",
};

/** The last line of what highlight.js returns: text and nested `<span class="hljs-…">`. */
function lastLine(html: string): Span[] {
  let spans: Span[] = [];
  const open: (Style | undefined)[] = [];
  for (const [token, className, text] of html.matchAll(
    /<span class="([^"]*)">|<\/span>|([^<]+)/g,
  )) {
    if (className !== undefined) open.push(styleOf(className));
    else if (text === undefined) open.pop();
    else {
      const decoded = token.replaceAll(
        /&(?:amp|lt|gt|quot|#x27);/g,
        (name) => entities[name] ?? "",
      );
      const lineStart = decoded.lastIndexOf("\n") + 1;
      if (lineStart > 0) spans = [];
      const style = open.findLast((name) => name !== undefined);
      spans.push({ text: decoded.slice(lineStart), styles: style === undefined ? [] : [style] });
    }
  }
  return spans;
}

function styleOf(className: string): Style | undefined {
  const [name = ""] = className.split(" ");
  return styles[name.replace(/^hljs-/, "")];
}
