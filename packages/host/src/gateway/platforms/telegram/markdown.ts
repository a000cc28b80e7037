/** Everything that means something in MarkdownV2, wherever it stands. */
const specialCharacters = /[_*[\]()~`>#+\-=|{}.!\\]/g;

export function escapeText(text: string): string {
  return text.replace(specialCharacters, "\\$&");
}

/** Inside of code only these two end or bend it. */
function escapeCode(text: string): string {
  return text.replace(/[`\\]/g, "\\$&");
}

function escapeUrl(url: string): string {
  return url.replace(/[)\\]/g, "\\$&");
}

/**
 * A model's Markdown as Telegram's MarkdownV2. Whatever is not clearly markup is text, escaped: so the result is well formed
 * for every input, half a message that is still being written too.
 */
export function toMarkdownV2(markdown: string): string {
  const lines = markdown.split("\n");
  const out: string[] = [];
  for (let at = 0; at < lines.length;) {
    const line = lines[at] ?? "";
    const fence = /^ {0,3}(`{3,}|~{3,})\s*([^\s`]*)[^`]*$/.exec(line);
    if (fence !== null) {
      const [, mark = "```", info = ""] = fence;
      const end = lines.findIndex((each, index) => index > at && closesFence(each, mark));
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
  /** What it is written with. */
  readonly pattern: RegExp;
  /** What Telegram writes it with. */
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

/** `open` are the marks that stand around it: an entity is never put into one of its own kind. */
function renderInline(text: string, open: string): string {
  let out = "";
  for (let at = 0; at < text.length;) {
    const rest = text.slice(at);
    const found = matchSpan(rest, text[at - 1], open);
    if (found === null) {
      const [character = ""] = /^\\?[\s\S]/u.exec(rest) ?? [];
      const isEscape = /^\\[!-/:-@[-`{-~]$/.test(character);
      out += escapeText(isEscape ? character.slice(1) : (character[0] ?? ""));
      at += isEscape ? 2 : 1;
      continue;
    }
    // Two underscores in a row would be read as one underline.
    const isTouching = found.text.startsWith("_") && /(^|[^\\])_$/.test(out);
    out += isTouching ? found.text.slice(1, -1) : found.text;
    at += found.length;
  }
  return out;
}

function matchSpan(
  rest: string,
  before: string | undefined,
  open: string,
): { readonly text: string; readonly length: number } | null {
  const code = codeSpan.exec(rest);
  if (code !== null && (code[2] ?? "").trim() !== "")
    return { text: `\`${escapeCode((code[2] ?? "").trim())}\``, length: code[0].length };
  const linked = open.includes("[") ? null : link.exec(rest);
  if (linked !== null && (linked[1] ?? "").trim() !== "") {
    const words = renderInline(linked[1] ?? "", `${open}[`);
    return { text: `[${words}](${escapeUrl(linked[2] ?? "")})`, length: linked[0].length };
  }
  for (const { pattern, mark } of spanRules) {
    const [whole, inner = ""] = pattern.exec(rest) ?? [];
    const isInWord = rest.startsWith("_") && /\w/.test(before ?? "");
    if (whole === undefined || isInWord || open.includes(mark)) continue;
    return { text: `${mark}${renderInline(inner, open + mark)}${mark}`, length: whole.length };
  }
  return null;
}
