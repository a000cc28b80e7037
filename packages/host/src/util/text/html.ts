/** The entities that pages really use. Others stay as they are written. */
const namedEntities: Readonly<Record<string, string>> = {
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  apos: "'",
  nbsp: " ",
  copy: "©",
  reg: "®",
  trade: "™",
  hellip: "…",
  mdash: "—",
  ndash: "–",
  lsquo: "‘",
  rsquo: "’",
  ldquo: "“",
  rdquo: "”",
  laquo: "«",
  raquo: "»",
  bull: "•",
  middot: "·",
  times: "×",
  divide: "÷",
  deg: "°",
  euro: "€",
  pound: "£",
  yen: "¥",
  cent: "¢",
  sect: "§",
  para: "¶",
  larr: "←",
  rarr: "→",
  auml: "ä",
  ouml: "ö",
  uuml: "ü",
  Auml: "Ä",
  Ouml: "Ö",
  Uuml: "Ü",
  szlig: "ß",
  eacute: "é",
  egrave: "è",
  agrave: "à",
  ccedil: "ç",
  ntilde: "ñ",
};

function decodeEntities(text: string): string {
  if (!text.includes("&")) return text;
  return text.replace(/&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|([a-z]{2,10}));/gi, (whole, ...groups) => {
    const [decimal, hex, name] = groups as (string | undefined)[];
    if (name !== undefined)
      return Object.hasOwn(namedEntities, name) ? (namedEntities[name] ?? whole) : whole;
    const code = decimal === undefined ? Number.parseInt(hex ?? "", 16) : Number(decimal);
    const isCharacter = code > 0 && code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff);
    return isCharacter ? String.fromCodePoint(code) : "\uFFFD";
  });
}

/** Tags whose content is not for reading. */
const skippedTags: ReadonlySet<string> = new Set(
  "script style noscript template svg math iframe object canvas select head title".split(" "),
);
const blockTags: ReadonlySet<string> = new Set(
  "p div section article header footer main aside nav ul ol dl dt dd table tr form fieldset figure figcaption blockquote pre hr address details summary".split(
    " ",
  ),
);
const maxListIndent = 6;

interface HtmlReading {
  readonly out: string[];
  room: number;
  /** Inside `pre`, spaces are kept. */
  pre: number;
  lists: number;
  readonly links: string[];
}

/**
 * A page as plain text, with headings, lists and links in Markdown notation. One pass, in time proportional to the
 * page; nothing in it is ever run or fetched.
 */
export function readableHtml(html: string, base: string, maxLength: number): string {
  const reading: HtmlReading = { out: [], room: maxLength, pre: 0, lists: 0, links: [] };
  const title = titleOf(html);
  if (title !== "") add(reading, `# ${title}\n\n`);
  let at = 0;
  while (at < html.length && reading.room > 0) {
    const open = html.indexOf("<", at);
    addText(reading, html.slice(at, open === -1 ? html.length : open));
    if (open === -1) break;
    at = handleTag(reading, html, open, base);
  }
  const lines = reading.out.join("").split("\n");
  return lines
    .map((line) => line.trimEnd())
    .filter((line, n, all) => line !== "" || all[n - 1] !== "")
    .join("\n")
    .trim();
}

function titleOf(html: string): string {
  const title = /<title[^>]{0,200}>([^<]{0,1000})/i.exec(html)?.[1] ?? "";
  return decodeEntities(title).replace(/\s+/g, " ").trim();
}

/** Handles one tag and returns the position after it. */
function handleTag(reading: HtmlReading, html: string, open: number, base: string): number {
  if (html.startsWith("<!--", open)) return after(html, "-->", open + 4);
  const match = /^<(\/?)([a-z][a-z0-9]{0,15})(?=[\s/>])/i.exec(html.slice(open, open + 20));
  if (match === null) {
    if (/^<[!?]/.test(html.slice(open, open + 2))) return after(html, ">", open);
    // A bare `<` is text.
    addText(reading, "<");
    return open + 1;
  }
  const [, slash, rawName = ""] = match;
  const tag = rawName.toLowerCase();
  const end = after(html, ">", open);
  if (slash === "" && skippedTags.has(tag)) return afterClosing(html, tag, end);
  if (slash === "") openTag(reading, tag, html.slice(open, Math.min(end, open + 4_000)), base);
  else closeTag(reading, tag);
  return end;
}

function after(html: string, mark: string, from: number): number {
  const at = html.indexOf(mark, from);
  return at === -1 ? html.length : at + mark.length;
}

function afterClosing(html: string, tag: string, from: number): number {
  const closing = new RegExp(`</${tag}[\\s>]`, "gi");
  closing.lastIndex = from;
  const match = closing.exec(html);
  return match === null ? html.length : after(html, ">", match.index);
}

function openTag(reading: HtmlReading, tag: string, text: string, base: string): void {
  if (/^h[1-6]$/.test(tag)) return add(reading, `\n\n${"#".repeat(Number(tag[1]))} `);
  if (tag === "br") return add(reading, "\n");
  if (tag === "li")
    return add(
      reading,
      `\n${"  ".repeat(Math.min(maxListIndent, Math.max(0, reading.lists - 1)))}- `,
    );
  if (tag === "td" || tag === "th") return add(reading, " | ");
  if (tag === "a") return void reading.links.push(hrefOf(text, base));
  if (tag === "img") return add(reading, attribute(text, "alt"));
  if (tag === "ul" || tag === "ol") reading.lists += 1;
  if (tag === "pre") reading.pre += 1;
  if (blockTags.has(tag)) add(reading, reading.lists > 0 ? "\n" : "\n\n");
}

function closeTag(reading: HtmlReading, tag: string): void {
  if (/^h[1-6]$/.test(tag)) return add(reading, "\n\n");
  if (tag === "a") {
    const href = reading.links.pop() ?? "";
    return href === "" ? undefined : add(reading, ` (${href})`);
  }
  if (tag === "ul" || tag === "ol") reading.lists = Math.max(0, reading.lists - 1);
  if (tag === "pre") reading.pre = Math.max(0, reading.pre - 1);
  if (blockTags.has(tag)) add(reading, reading.lists > 0 ? "\n" : "\n\n");
}

function hrefOf(tag: string, base: string): string {
  const href = attribute(tag, "href");
  if (href === "" || href.startsWith("#")) return "";
  const url = URL.parse(href, base);
  return url !== null && /^https?:$/.test(url.protocol) && url.href.length <= 500 ? url.href : "";
}

function attribute(tag: string, name: "href" | "alt"): string {
  const match = new RegExp(`\\s${name}\\s*=\\s*(?:"([^"]*)"|'([^']*)'|([^\\s>]+))`, "i").exec(tag);
  return decodeEntities(match?.[1] ?? match?.[2] ?? match?.[3] ?? "").trim();
}

function addText(reading: HtmlReading, raw: string): void {
  const text = decodeEntities(raw);
  if (reading.pre > 0) return add(reading, text);
  const joined = text.replace(/\s+/g, " ");
  const isAtStart = /(^|\n)[ \t-]{0,20}$/.test(reading.out.at(-1)?.slice(-20) ?? "");
  const plain = isAtStart ? joined.trimStart() : joined;
  if (plain !== "") add(reading, plain);
}

function add(reading: HtmlReading, text: string): void {
  if (text === "") return;
  reading.out.push(text.slice(0, reading.room));
  reading.room -= text.length;
}
