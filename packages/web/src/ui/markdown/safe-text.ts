// oxlint-disable no-control-regex -- they are what is looked for

/** Characters that reorder or hide what stands around them, and controls that a reader cannot see. */
const invisibleCharacters =
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g;
const ansiSequences = /\u001b\[[0-9;?]*[ -/]*[@-~]|\u001b\][^\u0007\u001b]*(?:\u0007|\u001b\\)/g;

/** What will be run or was written is shown with everything in it: nothing hides between the characters. */
export function revealInvisible(text: string): string {
  return text.replaceAll(invisibleCharacters, (character) => {
    const code = character.codePointAt(0) ?? 0;
    return `⟨U+${code.toString(16).toUpperCase().padStart(4, "0")}⟩`;
  });
}

/** A terminal's output without the terminal: colours go, the last write to a line stands. */
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

/** Where a link may lead. Everything else that a model writes as one is shown as text. */
export function safeLink(href: string): string | null {
  const parsed = URL.canParse(href) ? new URL(href) : null;
  const isOpen = parsed !== null && ["http:", "https:", "mailto:"].includes(parsed.protocol);
  return isOpen ? parsed.href : null;
}

/** A picture that brings its own bytes. Nothing is fetched from where a model says. */
export function safeImage(href: string): string | null {
  return /^data:image\/(png|jpeg|gif|webp);base64,[a-z0-9+/=]+$/i.test(href) ? href : null;
}
