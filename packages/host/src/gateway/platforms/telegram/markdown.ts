/** All characters that MarkdownV2 treats as markup anywhere. */
const specialCharacters = /[_*[\]()~`>#+\-=|{}.!\\]/g;

export function escapeText(text: string): string {
  return text.replace(specialCharacters, "\\$&");
}

/** Inside code, only these two are special. */
function escapeCode(text: string): string {
  return text.replace(/[`\\]/g, "\\$&");
}

function escapeUrl(url: string): string {
  return url.replace(/[)\\]/g, "\\$&");
}

/**
 * Converts a model's Markdown to Telegram's MarkdownV2. Anything that is not clearly markup becomes escaped text,
 * so the result is well formed for every input, including a message cut off while streaming.
 */
export function toMarkdownV2(markdown: string): string {
  const lines = markdown.split("\n");
  const out: string[] = [];
  for (let at = 0; at < lines.length;) {
    const line = lines[at] ?? "";
    const fence = /^ {0,3}(`{3,}|~{3,})\s*([^\s`]*)[^`]*$/.exec(line);
    if (fence !== null) {
      const [, mark = "```", info = ""] = fence;
      const end = lines.findIndex((candidate, index) => index > at && closesFence(candidate, mark));
      const body = lines.slice(at + 1, end === -1 ? lines.length : end).join("\n");
      out.push(codeBlock(body, info));
      at = end === -1 ? lines.length : end + 1;
      continue;
    }
    out.push(renderLine(line));
    at += 1;
  }
  return out.join("\n");
}

function closesFence(line: string, mark: string): boolean {
  const text = line.trim();
  return text.length >= mark.length && text.replaceAll(mark[0] ?? "", "") === "";
}

function codeBlock(body: string, info: string): string {
  if (body.trim() === "") return escapeText(body);
  const language = /^[A-Za-z0-9+#-]{1,20}$/.test(info) ? escapeCode(info) : "";
  return `\`\`\`${language}\n${escapeCode(body)}\n\`\`\``;
}

function renderLine(line: string): string {
  const heading = /^ {0,3}#{1,6}\s+(.*?)\s*#*$/.exec(line)?.[1];
  if (heading !== undefined && heading.trim() !== "") return `*${renderInline(heading, "*")}*`;
  const item = /^(\s*)[-*+]\s+(.*)$/.exec(line);
  if (item !== null) return `${item[1]}• ${renderInline(item[2] ?? "", "")}`;
  return renderInline(line, "");
}

interface SpanRule {
  /** The model's notation. */
  readonly pattern: RegExp;
  /** Telegram's notation. */
  readonly mark: string;
}

const spanRules: readonly SpanRule[] = [
  { pattern: /^\*\*(?=\S)([\s\S]*?\S)\*\*/, mark: "*" },
  { pattern: /^__(?=\S)([\s\S]*?\S)__(?!\w)/, mark: "*" },
  { pattern: /^~~(?=\S)([\s\S]*?\S)~~/, mark: "~" },
  { pattern: /^\*(?=[^\s*])([^*\n]*?[^\s*])\*(?!\*)/, mark: "_" },
  { pattern: /^_(?=[^\s_])([^_\n]*?[^\s_])_(?!\w)/, mark: "_" },
];
const codeSpan = /^(`+)(?!`)([\s\S]*?[^`])\1(?!`)/;
const link = /^\[([^[\]\n]+)\]\((https?:\/\/[^\s()<>]+)\)/;

/** `open` holds the enclosing marks: an entity never nests in one of its own kind. */
function renderInline(text: string, open: string): string {
  let out = "";
  for (let at = 0; at < text.length;) {
    const rest = text.slice(at);
    const span = matchSpan(rest, text[at - 1], open);
    if (span === null) {
      const [character = ""] = /^\\?[\s\S]/u.exec(rest) ?? [];
      const isEscape = /^\\[!-/:-@[-`{-~]$/.test(character);
      out += escapeText(isEscape ? character.slice(1) : (character[0] ?? ""));
      at += isEscape ? 2 : 1;
      continue;
    }
    // Two adjacent underscores would be read as an underline.
    const isTouching = span.text.startsWith("_") && /(^|[^\\])_$/.test(out);
    out += isTouching ? span.text.slice(1, -1) : span.text;
    at += span.length;
  }
  return out;
}

function matchSpan(
  rest: string,
  previous: string | undefined,
  open: string,
): { readonly text: string; readonly length: number } | null {
  const codeMatch = codeSpan.exec(rest);
  if (codeMatch !== null && (codeMatch[2] ?? "").trim() !== "")
    return { text: `\`${escapeCode((codeMatch[2] ?? "").trim())}\``, length: codeMatch[0].length };
  const linkMatch = open.includes("[") ? null : link.exec(rest);
  if (linkMatch !== null && (linkMatch[1] ?? "").trim() !== "") {
    const label = renderInline(linkMatch[1] ?? "", `${open}[`);
    return { text: `[${label}](${escapeUrl(linkMatch[2] ?? "")})`, length: linkMatch[0].length };
  }
  for (const { pattern, mark } of spanRules) {
    const [whole, inner = ""] = pattern.exec(rest) ?? [];
    const isInWord = rest.startsWith("_") && /\w/.test(previous ?? "");
    if (whole === undefined || isInWord || open.includes(mark)) continue;
    return { text: `${mark}${renderInline(inner, open + mark)}${mark}`, length: whole.length };
  }
  return null;
}
