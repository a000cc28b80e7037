import { Tokenizer } from "htmlparser2";

/** Tags whose content is not for reading. */
const skippedTags: ReadonlySet<string> = new Set(
  "script style noscript template svg math iframe object canvas select title".split(" "),
);
/** Only these can be self-closing. */
const foreignTags: ReadonlySet<string> = new Set(["svg", "math"]);
const blockTags: ReadonlySet<string> = new Set(
  "p div section article header footer main aside nav ul ol dl dt dd table tr form fieldset figure figcaption blockquote pre hr address details summary".split(
    " ",
  ),
);
const maxListIndent = 6;
const maxTitleLength = 1_000;
const maxLinkLength = 500;

/**
 * A page as plain text, with headings, lists and links in Markdown notation. One pass over tokens, without a tree, so
 * deep nesting costs nothing. Nothing in the page is run or fetched.
 */
export function readableHtml(html: string, base: string, maxLength: number): string {
  const text = new PageText(base, maxLength);
  let pending = "";
  let title: string | undefined;
  let tag = "";
  let attribute = "";
  let attributes = new Map<string, string>();
  let skipped: { readonly tag: string; depth: number } | undefined;

  const addPending = (): void => {
    if (skipped === undefined) text.addText(pending);
    else if (skipped.tag === "title") title ??= pending.slice(0, maxTitleLength);
    pending = "";
    if (text.isFull()) tokenizer.pause();
  };
  const nameAt = (start: number, end: number): string => html.slice(start, end).toLowerCase();
  const addToAttribute = (piece: string): void => {
    attributes.set(attribute, (attributes.get(attribute) ?? "") + piece);
  };
  const endOpeningTag = (isSelfClosing: boolean): void => {
    const isClosed = isSelfClosing && (foreignTags.has(tag) || skipped !== undefined);
    if (skipped !== undefined) {
      if (tag === skipped.tag && !isClosed) skipped.depth += 1;
    } else if (!skippedTags.has(tag)) text.openTag(tag, attributes);
    else if (!isClosed) skipped = { tag, depth: 1 };
  };
  const ignored = (): void => addPending();
  const tokenizer = new Tokenizer(
    { decodeEntities: true },
    {
      ontext: (start, end) => void (pending += html.slice(start, end)),
      ontextentity: (code) => void (pending += String.fromCodePoint(code)),
      onopentagname: (start, end) => {
        addPending();
        tag = nameAt(start, end);
        attributes = new Map();
      },
      onattribname: (start, end) => {
        const name = nameAt(start, end);
        // The first of a repeated attribute counts.
        attribute = attributes.has(name) ? "" : name;
      },
      onattribdata: (start, end) => addToAttribute(html.slice(start, end)),
      onattribentity: (code) => addToAttribute(String.fromCodePoint(code)),
      onattribend: () => addToAttribute(""),
      onopentagend: () => endOpeningTag(false),
      onselfclosingtag: () => endOpeningTag(true),
      onclosetag: (start, end) => {
        addPending();
        const closed = nameAt(start, end);
        if (skipped === undefined) return text.closeTag(closed);
        if (closed === skipped.tag) skipped.depth -= 1;
        if (skipped.depth === 0) skipped = undefined;
      },
      oncomment: ignored,
      oncdata: ignored,
      ondeclaration: ignored,
      onprocessinginstruction: ignored,
      onend: addPending,
      isInForeignContext: () => skipped !== undefined && foreignTags.has(skipped.tag),
    },
  );
  tokenizer.write(html);
  tokenizer.end();
  return text.finish(title ?? "");
}

class PageText {
  readonly #base: string;
  readonly #maxLength: number;
  readonly #out: string[] = [];
  #room: number;
  /** Inside `pre`, spaces are kept. */
  #pre = 0;
  #lists = 0;
  readonly #links: string[] = [];

  constructor(base: string, maxLength: number) {
    this.#base = base;
    this.#maxLength = maxLength;
    this.#room = maxLength;
  }

  isFull(): boolean {
    return this.#room <= 0;
  }

  finish(title: string): string {
    const heading = title.replace(/\s+/g, " ").trim();
    const lines = `${heading === "" ? "" : `# ${heading}\n\n`}${this.#out.join("")}`.split("\n");
    return lines
      .map((line) => line.trimEnd())
      .filter((line, n, all) => line !== "" || all[n - 1] !== "")
      .join("\n")
      .trim()
      .slice(0, this.#maxLength);
  }

  openTag(tag: string, attributes: ReadonlyMap<string, string>): void {
    if (/^h[1-6]$/.test(tag)) return this.#add(`\n\n${"#".repeat(Number(tag[1]))} `);
    if (tag === "br") return this.#add("\n");
    if (tag === "li") {
      const level = Math.min(maxListIndent, Math.max(0, this.#lists - 1));
      return this.#add(`\n${"  ".repeat(level)}- `);
    }
    if (tag === "td" || tag === "th") return this.#add(" | ");
    if (tag === "a") return void this.#links.push(this.#linkTo(attributes.get("href") ?? ""));
    if (tag === "img") return this.#add((attributes.get("alt") ?? "").trim());
    if (tag === "ul" || tag === "ol") this.#lists += 1;
    if (tag === "pre") this.#pre += 1;
    if (blockTags.has(tag)) this.#add(this.#lists > 0 ? "\n" : "\n\n");
  }

  closeTag(tag: string): void {
    if (/^h[1-6]$/.test(tag)) return this.#add("\n\n");
    if (tag === "a") {
      const link = this.#links.pop() ?? "";
      return link === "" ? undefined : this.#add(` (${link})`);
    }
    if (tag === "ul" || tag === "ol") this.#lists = Math.max(0, this.#lists - 1);
    if (tag === "pre") this.#pre = Math.max(0, this.#pre - 1);
    if (blockTags.has(tag)) this.#add(this.#lists > 0 ? "\n" : "\n\n");
  }

  addText(text: string): void {
    if (this.#pre > 0) return this.#add(text);
    const joined = text.replace(/\s+/g, " ");
    const isAtStart = /(^|\n)[ \t-]{0,20}$/.test(this.#out.at(-1)?.slice(-20) ?? "");
    this.#add(isAtStart ? joined.trimStart() : joined);
  }

  #linkTo(href: string): string {
    if (href === "" || href.startsWith("#") || href.length > 4 * maxLinkLength) return "";
    const url = URL.parse(href, this.#base);
    const isShown = url !== null && /^https?:$/.test(url.protocol);
    return isShown && url.href.length <= maxLinkLength ? url.href : "";
  }

  #add(text: string): void {
    if (text === "") return;
    this.#out.push(text.slice(0, this.#room));
    this.#room -= text.length;
  }
}
