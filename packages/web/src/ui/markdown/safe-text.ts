// oxlint-disable no-control-regex -- it matches control characters on purpose

/** Control characters, and characters that reorder or hide the text around them. */
const invisibleCharacters =
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g;
const ansiSequences = /\u001b\[[0-9;?]*[ -/]*[@-~]|\u001b\][^\u0007\u001b]*(?:\u0007|\u001b\\)/g;

/** Shows invisible characters by their code point, so that nothing hides in a command or a text. */
export function revealInvisible(text: string): string {
  return text.replaceAll(invisibleCharacters, (character) => {
    const code = character.codePointAt(0) ?? 0;
    return `⟨U+${code.toString(16).toUpperCase().padStart(4, "0")}⟩`;
  });
}

/** Removes escape sequences, and keeps the last write to a line that was overwritten with `\r`. */
export function stripAnsi(text: string): string {
  return text
    .replaceAll(ansiSequences, "")
    .replaceAll("\r\n", "\n")
    .replaceAll(/^[^\n]*\r(?=[^\n])/gm, "");
}

const namedEntities: Readonly<Record<string, string>> = {
  amp: "&",
  apos: "'",
  copy: "©",
  gt: ">",
  hellip: "…",
  ldquo: "“",
  lt: "<",
  mdash: "—",
  middot: "·",
  nbsp: "\u00a0",
  ndash: "–",
  quot: '"',
  rarr: "→",
  rdquo: "”",
  times: "×",
};

export function decodeEntities(text: string): string {
  return text.replaceAll(/&(#x[0-9a-f]{1,6}|#\d{1,7}|[a-z]{2,8});/gi, (whole, name: string) => {
    if (!name.startsWith("#")) return namedEntities[name] ?? whole;
    const code = name[1]?.toLowerCase() === "x" ? Number(`0x${name.slice(2)}`) : +name.slice(1);
    return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : whole;
  });
}

/** The URL if its scheme is allowed; any other link of a model is shown as text. */
export function safeLink(href: string): string | null {
  const parsed = URL.canParse(href) ? new URL(href) : null;
  const isAllowed = parsed !== null && ["http:", "https:", "mailto:"].includes(parsed.protocol);
  return isAllowed ? parsed.href : null;
}

/** A link to a page of the web, and the host that it leads to; `null` if it is no such link. */
export function webLink(href: string): { readonly href: string; readonly host: string } | null {
  const parsed = URL.canParse(href) ? new URL(href) : null;
  if (parsed === null || !["http:", "https:"].includes(parsed.protocol)) return null;
  return { href: parsed.href, host: parsed.host };
}

/** Only data URLs: the page fetches nothing from an address that a model wrote. */
export function safeImage(href: string): string | null {
  return /^data:image\/(png|jpeg|gif|webp);base64,[a-z0-9+/=]+$/i.test(href) ? href : null;
}
